// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CCrypto

/// The beginning of libcrypto.
package enum CryptoLibrary {
  /// libcrypto 3.0 does not look whether there was memory enough to set up its default context: what comes next then reads
  /// through a null pointer. So it is asked once, before anything else of it is used.
  ///
  /// Nor may it tear itself down in exit(): a key's thread that ends in the same moment gives back what libcrypto keeps for
  /// it, and one of both then frees what the other has freed. What is wiped is wiped before; the rest goes with the process.
  private static let hasBegun =
    OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1 && OSSL_LIB_CTX_get0_global_default() != nil

  /// Sets libcrypto up, or ends the program with a name. Cheap after the first time.
  package static func begin() {
    guard hasBegun else { Exhaustion.end("OSSL_LIB_CTX_get0_global_default") }
  }
}
