// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// authenticatorReset and authenticatorSelection (CTAP 2.1 sections 6.6 and 6.9).
extension KeyCore {
  func reset() throws(CTAPStatus) -> [UInt8] {
    if let window = timing.resetWindow, uptime > window { throw .notAllowed }
    try collectTouch(rpId: nil, timeout: .userActionTimeout)
    try factoryReset()
    return []
  }

  func selection() throws(CTAPStatus) -> [UInt8] {
    try collectTouch(rpId: nil, timeout: .userActionTimeout)
    return []
  }
}
