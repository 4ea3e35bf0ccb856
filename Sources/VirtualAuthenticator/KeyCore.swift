// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// The key itself. Not Sendable: ``VirtualAuthenticator`` holds it behind a mutex.
final class KeyCore {
  let profile: ModelProfile
  let timing: KeyTiming
  let clock: KeyClock
  let touch: TouchControl
  let fingerprint: FingerprintControl
  let attestation: VirtualAttestation

  private(set) var state: KeyState
  private let file: KeyStateFile?
  /// The error of the last try to save the state. It can be read while a command waits for the person.
  let storageError = Locked<KeyStateError?>(nil)

  /// What does not survive without power.
  var protocols: [PINProtocol] = []
  var token = PINTokenState()
  var wrongPINsInARow = 0
  var pending = PendingCommand.none
  var largeBlobWrite: LargeBlobWrite?
  private var pendingSession: UInt32 = 0
  private var pendingSince: Int64 = 0
  private var poweredAt: Int64 = 0
  var u2fTouch: (since: Int64, apdu: [UInt8])?

  /// Of the command that is being done.
  private var waiter: PresenceWaiter
  private(set) var command: CTAPCommand?
  private(set) var session: UInt32 = 0
  private var waits = 0

  init(
    profile: ModelProfile, storage: VirtualAuthenticator.Storage, timing: KeyTiming, clock: KeyClock,
    touch: TouchControl, fingerprint: FingerprintControl
  ) throws {
    self.profile = profile
    self.timing = timing
    self.clock = clock
    self.touch = touch
    self.fingerprint = fingerprint
    waiter = DirectWaiter(clock: clock)
    attestation = try VirtualAttestation(aaguid: profile.info.aaguid)
    switch storage {
    case .memory:
      file = nil
      state = KeyState(factory: profile)
    case .file(let path):
      let (file, stored) = try KeyStateFile.open(path)
      self.file = file
      if let stored {
        guard stored.facts.profile == profile.name else {
          throw KeyStateError.otherProfile(path: path, profile: stored.facts.profile)
        }
        state = stored
      } else {
        state = KeyState(factory: profile)
        try file.save(state)
      }
    }
    powerUp()
  }

  /// The part of the state without secrets. Changes are kept by ``save()``.
  var facts: KeyState.Facts {
    get { state.facts }
    set { state.facts = newValue }
  }

  /// Keeps the state. A key that cannot remember must not pretend to.
  func save() throws(CTAPStatus) {
    do {
      try file?.save(state)
      storageError.withLock { $0 = nil }
    } catch {
      storageError.withLock { $0 = error }
      throw .other
    }
  }

  /// Everything back to the factory.
  func factoryReset() throws(CTAPStatus) {
    state = KeyState(factory: profile)
    try save()
    startProtocols()
    dropPending()
    wrongPINsInARow = 0
  }

  func powerUp() {
    poweredAt = clock.now()
    wrongPINsInARow = 0
    startProtocols()
    dropPending()
    u2fTouch = nil
  }

  private func startProtocols() {
    token.stop()
    protocols = profile.info.pinUvAuthProtocols.compactMap { try? PINProtocol($0) }
  }

  func endSession(_ session: UInt32) { if pendingSession == session { dropPending() } }

  /// Milliseconds since the power came.
  var uptime: Int64 { clock.now() - poweredAt }

  // MARK: - Commands

  func handle(_ request: [UInt8], session: UInt32, waiter: PresenceWaiter) -> ([UInt8], CommandLog.Entry) {
    self.session = session
    self.waiter = waiter
    defer { self.waiter = DirectWaiter(clock: clock) }
    waits = 0
    command = request.first.flatMap { CTAPCommand(rawValue: $0) }
    // Before CTAP 2.1 a token lived until the power went.
    if profile.followsCTAP21 { token.observe(now: clock.now(), timing: timing) }
    var status = CTAPStatus.success
    var reply: [UInt8] = []
    do {
      if let body = try dispatch(request) { reply = body }
    } catch {
      status = error
      reply = []
    }
    let entry = CommandLog.Entry(
      kind: .ctap2(command), subcommand: Self.subcommand(command, request), request: request, status: status,
      waits: waits)
    return ([status.rawValue] + reply, entry)
  }

  private func dispatch(_ request: [UInt8]) throws(CTAPStatus) -> [UInt8]? {
    guard profile.speaksCTAP2 else { throw .invalidCommand }
    guard !request.isEmpty else { throw .invalidLength }
    guard request.count <= profile.info.effectiveMaxMsgSize else { throw .requestTooLarge }
    guard let command else { throw .invalidCommand }
    if !pending.continues(with: command) { dropPending() }
    switch command {
    case .getInfo, .reset, .selection, .getNextAssertion:
      guard request.count == 1 else { throw .invalidLength }
    default: break
    }
    let has = profile.info.options
    switch command {
    case .getInfo: return profile.rawInfo ?? encodedInfo()
    case .makeCredential: return try makeCredential(CommandParameters(request))
    case .getAssertion: return try getAssertion(CommandParameters(request))
    case .getNextAssertion: return try getNextAssertion()
    case .clientPIN where has["clientPin"] != nil || has["uv"] != nil || profile.offers("hmac-secret"):
      return try clientPIN(CommandParameters(request))
    case .reset: return try reset()
    case .selection where profile.followsCTAP21: return try selection()
    case .credentialManagement where has["credMgmt"] == true,
      .credentialManagementPreview where has["credentialMgmtPreview"] == true:
      return try credentialManagement(CommandParameters(request))
    case .bioEnrollment where has["bioEnroll"] != nil,
      .bioEnrollmentPreview where has["userVerificationMgmtPreview"] != nil:
      return try bioEnrollment(CommandParameters(request))
    case .largeBlobs where has["largeBlobs"] == true: return try largeBlobs(CommandParameters(request))
    case .config where has["authnrCfg"] == true: return try config(CommandParameters(request))
    default: throw .invalidCommand
    }
  }

  private static func subcommand(_ command: CTAPCommand?, _ request: [UInt8]) -> Int? {
    let key: Int64
    switch command {
    case .clientPIN, .bioEnrollment, .bioEnrollmentPreview: key = 2
    case .credentialManagement, .credentialManagementPreview, .config: key = 1
    default: return nil
    }
    let map = try? CBORDecoder.decode(request, at: 1)
    return map?[key]?.int.flatMap { Int(exactly: $0) }
  }

  // MARK: - The person

  /// Asks for a touch.
  /// - Throws: what the command answers when there is none: `timeout` when nobody came, OPERATION_DENIED when
  ///   refused, KEEPALIVE_CANCEL when the host gave up.
  func collectTouch(rpId: String?, timeout: CTAPStatus = .operationDenied) throws(CTAPStatus) {
    switch ask(.touch, rpId: rpId) {
    case .given: return
    case .refused: throw .operationDenied
    case .cancelled, .abandoned: throw .keepaliveCancel
    case .timedOut: throw timeout
    }
  }

  /// The status of makeCredential and getAssertion when nobody touches (CTAP 2.1 section 6.1.2 step 14).
  var touchTimeoutStatus: CTAPStatus { profile.touchTimeoutStatus ?? .operationDenied }

  func ask(_ kind: PresenceRequest.Kind, rpId: String?) -> PresenceOutcome {
    waits += 1
    touch.begin(PresenceRequest(kind: kind, command: command, rpId: rpId))
    defer { touch.end() }
    let endless = profile.quirks.contains(.endlessKeepalives)
    return waiter.wait(for: touch, until: endless ? .max : clock.now() + timing.touchTimeout)
  }

  /// How a built-in verification ended.
  enum BuiltInUv { case success, timedOut, failed }

  /// performBuiltInUv() (CTAP 2.1 section 6.5.3.1).
  /// - Throws: KEEPALIVE_CANCEL.
  func performBuiltInUv(internalRetry: Bool, rpId: String?) throws(CTAPStatus) -> BuiltInUv {
    for _ in 0..<(internalRetry ? 3 : 1) {
      guard facts.uvRetries > 0 else { return .failed }
      switch ask(.fingerprint, rpId: rpId) {
      case .given: break
      case .refused: return .failed
      case .timedOut: return .timedOut
      case .cancelled, .abandoned: throw .keepaliveCancel
      }
      if fingerprint.next() == .match {
        facts.uvRetries = profile.uvRetries
        try save()
        return .success
      }
      facts.uvRetries -= 1
      try save()
    }
    return .failed
  }

  // MARK: - Commands that go on

  /// Remembers a command that others go on with.
  func remember(_ command: PendingCommand) {
    pending = command
    pendingSession = session
    pendingSince = clock.now()
  }

  /// The command to go on with.
  /// - Throws: NOT_ALLOWED when there is none, it is another session's, or it was put off for too long.
  func resume() throws(CTAPStatus) -> PendingCommand {
    guard pendingSession == session, clock.now() - pendingSince <= timing.statefulTimeout else {
      dropPending()
      throw .notAllowed
    }
    return pending
  }

  func dropPending() { pending = .none }

  /// Room for `count` more random bytes that are used as names.
  func freshIdentifier(_ count: Int) -> [UInt8] { Random.bytes(count) }
}
