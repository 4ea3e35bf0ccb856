// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// A whole record of one estate in one file.
public enum Capsule {
  /// What its `format` says.
  public static let format = "seal.capsule"
}
