// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// How a key that is no hardware is told from one that is.
public enum SimulatedKeys {
  /// The AAGUID of this package's virtual key, 16 bytes: the ASCII text `sealkey virtual!`. No real model has it.
  public static let aaguid = Array("sealkey virtual!".utf8)
}
