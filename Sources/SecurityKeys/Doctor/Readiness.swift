// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire

/// Whether a person can do what people do with Seal, and why not.
public enum Readiness {
  /// What people do.
  public enum Act: String, Sendable, CaseIterable {
    /// Register a key, or endorse a device with it.
    case register
    /// Tap to release, or confirm.
    case tap
    /// Open what was locked for them.
    case unlock
  }

  /// A key as it was found.
  public struct Key: Sendable {
    /// What to call it.
    public let name: String
    /// What stops every use of it; nil when nothing does.
    public let obstacle: String?
    /// What it can do, where it could be opened.
    public let capabilities: (es256: Bool, prf: Bool, verifiesPerson: Bool)

    /// All parts at once.
    public init(name: String, obstacle: String?, es256: Bool, prf: Bool, verifiesPerson: Bool) {
      self.name = name
      self.obstacle = obstacle
      capabilities = (es256, prf, verifiesPerson)
    }
  }

  /// What stops every use of a key that could be opened; nil when nothing does.
  /// - Parameters:
  ///   - info: what getInfo said; nil for a U2F key.
  ///   - triesLeft: of its PIN, where it said so.
  ///   - lastTries: whether the last tries may be used up.
  public static func obstacle(_ info: AuthenticatorInfo?, triesLeft: Int?, lastTries: Bool) -> String? {
    guard let info else { return nil }
    if info.insistsInVain { return "it always wants a PIN and has none (sealkey pin set)" }
    guard info.option("clientPin") == true else { return nil }
    switch triesLeft {
    case 0?:
      return info.isAlwaysVerifying
        ? "its PIN is blocked" : "its PIN is blocked; what needs no PIN still works with a touch alone (--no-uv)"
    case let left? where left <= 3 && !lastTries: return "few PIN tries are left, and sealkey stops there"
    default: break
    }
    return info.forcePINChange == true ? "it wants another PIN first (sealkey pin change)" : nil
  }

  /// One answer.
  public struct Answer: Sendable, Hashable {
    /// Yes or no.
    public let can: Bool
    /// Why, as the rest of a sentence.
    public let because: String
  }

  /// Yes or no, because.
  /// - Parameter obstacle: something about this computer that stops the act, whatever the key.
  public static func answer(_ act: Act, keys: [Key], obstacle: String? = nil) -> Answer {
    if let obstacle { return Answer(can: false, because: obstacle) }
    guard !keys.isEmpty else { return Answer(can: false, because: "there is no key that could be opened") }
    var reasons: [String] = []
    for key in keys {
      guard let reason = key.obstacle ?? missing(act, key) else {
        return Answer(can: true, because: "\(key.name) can be used and does what it takes")
      }
      reasons.append("\(key.name): \(reason)")
    }
    return Answer(can: false, because: reasons.joined(separator: "; "))
  }

  private static func missing(_ act: Act, _ key: Key) -> String? {
    guard key.capabilities.es256 else { return "it does not make the credentials that Seal takes (ES256)" }
    guard act == .unlock else { return nil }
    guard key.capabilities.prf else { return "it cannot carry a secret (no hmac-secret)" }
    return key.capabilities.verifiesPerson ? nil : "it has no PIN and no fingerprint yet (sealkey pin set)"
  }
}

extension AuthenticatorInfo {
  /// The key verifies the person at every use (alwaysUv), and can not: it has no PIN and no fingerprint (CTAP 2.1 section
  /// 7.2).
  public var insistsInVain: Bool {
    option("alwaysUv") == true && option("clientPin") != true && option("uv") != true
  }
}
