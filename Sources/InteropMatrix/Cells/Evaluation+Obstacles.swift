// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

extension Evaluation {
  /// Why a step cannot be done after those before it; nil when it can. A run skips a step for nothing else, and a record
  /// that says otherwise is not true.
  func obstacle(_ step: MatrixStep) -> String? {
    switch step {
    case .register: return nil
    case .signIn, .friend, .endorse, .cancel:
      return credentials[.register] == nil ? "nothing was registered" : nil
    case .prfRegister: return info?.extensions.contains("hmac-secret") == true ? nil : "prfUnsupported"
    default: break
    }
    guard let info, info.extensions.contains("hmac-secret") else { return "prfUnsupported" }
    guard credentials[.prfRegister] != nil else { return "nothing was registered" }
    guard step != .prfEndorse else { return nil }
    guard finding(.prfEndorse)?.mark == .works || finding(.prfEndorse)?.mark == .sometimes else {
      return "no secret to compare with"
    }
    switch step {
    case .prfAgain: return canVerifyUser ? nil : "no PIN is set"
    case .prfWithoutUV:
      return info.option("alwaysUv") == true ? "the key always verifies (alwaysUv)" : nil
    case .prfProtocol1, .prfProtocol2:
      guard let number = step.pinProtocol else { return nil }
      return info.pinUvAuthProtocols.contains(number) ? nil : "the key has no protocol \(number)"
    default: return nil
    }
  }
}
