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
    /// What stops the use of it; nil when nothing does.
    public let obstacle: Obstacle?
    /// What it can do, where it could be opened.
    public let capabilities: (es256: Bool, prf: Bool, verifiesPerson: Bool)

    /// All parts at once.
    public init(name: String, obstacle: Obstacle?, es256: Bool, prf: Bool, verifiesPerson: Bool) {
      self.name = name
      self.obstacle = obstacle
      capabilities = (es256, prf, verifiesPerson)
    }
  }

  /// Something about a key that stops what people do with it.
  public struct Obstacle: Sendable, Hashable {
    /// What it is, as the rest of a sentence.
    public let reason: String
    /// What can be done all the same, with a touch alone (--no-uv).
    public let leaves: Set<Act>

    /// Both parts at once.
    public init(_ reason: String, leaves: Set<Act> = []) { (self.reason, self.leaves) = (reason, leaves) }
  }

  /// What stops the use of a key that could be opened; nil when nothing does.
  ///
  /// Trouble with a PIN is trouble only where the PIN is asked for (the table in FORMATS.md). A finger is asked for first,
  /// so a key that knows one is not held up. Without `alwaysUv` an assertion, and so a tap, takes a touch alone where the
  /// person asks for that; a new credential does where the key says so (`makeCredUvNotRqd`); the secret that unlocks never
  /// does.
  /// - Parameters:
  ///   - info: what getInfo said; nil for a U2F key.
  ///   - triesLeft: of its PIN, where it said so.
  ///   - lastTries: whether the last tries may be used up.
  public static func obstacle(_ info: AuthenticatorInfo?, triesLeft: Int?, lastTries: Bool) -> Obstacle? {
    guard let info else { return nil }
    if info.insistsInVain { return Obstacle("it always wants a PIN and has none (sealkey pin set)") }
    guard info.option("clientPin") == true, info.option("uv") != true else { return nil }
    var leaves: Set<Act> = []
    if info.option("alwaysUv") != true {
      leaves = info.option("makeCredUvNotRqd") == true ? [.register, .tap] : [.tap]
    }
    switch triesLeft {
    case 0?: return Obstacle("its PIN is blocked", leaves: leaves)
    case let left? where left <= 3 && !lastTries:
      return Obstacle("few PIN tries are left, and sealkey stops there", leaves: leaves)
    default: break
    }
    guard info.forcePINChange == true else { return nil }
    return Obstacle("it wants another PIN first (sealkey pin change)", leaves: leaves)
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
    var byTouch: Answer?
    for key in keys {
      let obstacle = key.obstacle
      let isLeft = obstacle?.leaves.contains(act) == true
      if let reason = (isLeft ? nil : obstacle?.reason) ?? missing(act, key) {
        reasons.append("\(key.name): \(reason)")
      } else if let obstacle {
        byTouch =
          byTouch
          ?? Answer(can: true, because: "\(key.name) does it with a touch alone (--no-uv), though \(obstacle.reason)")
      } else {
        return Answer(can: true, because: "\(key.name) can be used and does what it takes")
      }
    }
    return byTouch
      ?? Answer(can: false, because: reasons.joined(separator: "; "))
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
