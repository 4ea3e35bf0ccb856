// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// What is wrong with a file's contents, and which file it is.
public struct FaultInFile: NamedError {
  /// The file.
  public let path: String
  /// What is wrong with it.
  public let below: any NamedError

  /// Both parts.
  public init(path: String, below: any NamedError) {
    self.path = path
    self.below = below
  }

  public var name: String { below.name }
  public var message: String { "\(path): \(below.message)" }
  public var next: String { below.next }
  public var offset: Int? { below.offset }
  public var status: Int? { below.status }
  public var kind: FaultKind { below.kind }
}
