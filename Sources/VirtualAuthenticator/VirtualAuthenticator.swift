// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// A security key in software: CTAP 2.1 and U2F, as a state machine that does one request at a time.
///
/// It is a test instrument and the demo key, and says so in its AAGUID, its attestation and its device name. It knows
/// no wire: a host hands it requests and waits for the person on its behalf.
// Sendable: everything that changes lies in `core`, which is used only while the mutex around it is held.
public final class VirtualAuthenticator: Sendable {
  /// Where a key keeps what must survive without power.
  public enum Storage: Sendable, Hashable {
    /// Nowhere: gone with the process.
    case memory
    /// In a file, made when absent.
    case file(path: String)
  }

  /// The model it pretends to be.
  public let profile: ModelProfile
  /// The button.
  public let touch: TouchControl
  /// The finger on the sensor.
  public let fingerprint: FingerprintControl
  /// What it has been asked.
  public let log: CommandLog
  /// How long things may take.
  public let timing: KeyTiming
  /// Its clock.
  public let clock: KeyClock
  private let core: Locked<KeyCore>
  private let storageError: Locked<KeyStateError?>

  /// A key that has just been plugged in.
  /// - Throws: ``KeyStateError`` when the file cannot be used, ``CryptoError`` when libcrypto fails.
  public init(
    profile: ModelProfile = .virtual, storage: Storage = .memory, touch policy: TouchControl.Policy = .automatic,
    timing: KeyTiming = KeyTiming(), clock: KeyClock = .system
  ) throws {
    self.profile = profile
    self.timing = timing
    self.clock = clock
    touch = TouchControl(policy, clock: clock)
    fingerprint = FingerprintControl()
    log = CommandLog()
    let core = try KeyCore(
      profile: profile, storage: storage, timing: timing, clock: clock, touch: touch, fingerprint: fingerprint)
    storageError = core.storageError
    self.core = Locked(core)
  }

  /// Does one CTAP2 request and waits for the person where needed.
  /// - Parameters:
  ///   - request: the command byte and its map.
  ///   - session: which host asks; commands that go on with another belong to one session.
  /// - Returns: the status byte, and after a 0x00 the reply's map.
  public func handle(_ request: [UInt8], session: UInt32 = 0) -> [UInt8] {
    handle(request, session: session, waiter: DirectWaiter(clock: clock))
  }

  func handle(_ request: [UInt8], session: UInt32, waiter: PresenceWaiter) -> [UInt8] {
    core.withLock { core in
      let (reply, entry) = core.handle(request, session: session, waiter: waiter)
      log.append(entry)
      return reply
    }
  }

  /// Does one U2F APDU. U2F never waits: without a touch it answers 6985, and the host asks again.
  public func handleU2F(_ apdu: [UInt8]) -> [UInt8] {
    core.withLock { core in
      let (reply, entry) = core.handleU2F(apdu)
      log.append(entry)
      return reply.encoded
    }
  }

  /// Takes the power away and gives it back: tokens, soft blocks and half-done commands are gone.
  public func powerCycle() { core.withLock { $0.powerUp() } }

  /// Forgets half-done commands of a session that has ended.
  func endSession(_ session: UInt32) { core.withLock { $0.endSession(session) } }

  /// What it says about itself now.
  public var info: AuthenticatorInfo { core.withLock { $0.currentInfo() } }

  /// PIN tries left.
  public var pinRetries: Int { core.withLock { $0.facts.pinRetries } }

  /// Discoverable credentials stored.
  public var storedCredentials: Int { core.withLock { $0.facts.credentials.count } }

  /// The error of the last try to save the state, when that failed: the command that needed it was refused. Never waits
  /// for a command that waits for the person.
  public var lastStorageError: KeyStateError? { storageError.withLock { $0 } }
}
