// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CFido2
import CTAPWire
import CryptoCore
import WebAuthnCore

/// One open key: an actor on a thread of its own, because its calls block for as long as a person takes to touch.
///
/// Open it, use it, ``close()`` it. Cancel from anywhere with ``cancel()`` or by cancelling the task.
public actor SecurityKey {
  nonisolated let thread: KeyThread
  nonisolated let cancelSwitch: CancelSwitch
  /// What happens, as it happens. Ends when the key is closed.
  public nonisolated let events: AsyncStream<KeyEvent>
  nonisolated let eventSink: AsyncStream<KeyEvent>.Continuation
  let endpoint: KeyEndpoint
  let timings: KeyTimings
  private var link: KeyLink?
  private var device: FidoDevice?
  private var known: KeyFacts?
  private var isActing = false
  /// What the key says of itself has changed.
  private var isStale = false
  /// The key fails with PIN/UV auth protocol 2.
  private var avoidsProtocol2 = false
  /// PIN tries left when they were last read.
  var lastTries: Int?
  /// How few PIN tries make the tool stop; 0 never stops.
  let pinTriesFloor: Int
  /// Whether a wrong PIN is asked for again, as long as a try may be spent.
  let asksAgain: Bool
  /// What keys have refused in this run.
  nonisolated let refusedPINs: RefusedPINs
  /// A PIN try was spent that nobody can be blamed for: no more is spent in this conversation.
  var lostATry = false
  /// Which credential answered where.
  let hints: any CredentialHints
  /// What has been seen of the key and lists of several ids.
  var listManners = ListManners()
  /// Credentials that have answered since the key was opened.
  var provenHere: Set<CredentialDescriptor> = []
  /// The key was lifted and laid on again since a PIN was last given; what lies there now may be another one.
  var wasLaidOnAgain: Bool

  public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  /// A key that is not open yet.
  /// - Parameters:
  ///   - endpoint: where it is.
  ///   - timings: deadlines of every command.
  ///   - pinTriesFloor: with so many PIN tries left, or fewer, no PIN is tried.
  ///   - asksAgain: whether the person is asked again after a wrong PIN. For people only.
  ///   - refusedPINs: what keys have refused already; one for all keys of a run, so that no PIN is tried twice on one.
  ///   - hints: what is remembered of keys, beyond this conversation when the store is.
  ///   - follows: whether a key was used here before, with a PIN that may be remembered. On a card reader this one may be
  ///     another.
  public init(
    _ endpoint: KeyEndpoint, timings: KeyTimings = .standard, pinTriesFloor: Int = 3,
    asksAgain: Bool = false, refusedPINs: RefusedPINs = RefusedPINs(), hints: any CredentialHints = MemoryHints(),
    follows: Bool = false
  ) {
    wasLaidOnAgain = follows && endpoint.kindName == "pcsc"
    self.refusedPINs = refusedPINs
    self.asksAgain = asksAgain
    self.hints = hints
    self.endpoint = endpoint
    self.timings = timings
    self.pinTriesFloor = pinTriesFloor
    thread = KeyThread()
    cancelSwitch = CancelSwitch()
    (events, eventSink) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
  }

  isolated deinit {
    device = nil
    link?.transport.close()
    eventSink.finish()
    thread.stop()
  }

  /// Stops what the key is doing: it is told so, and the act throws `cancelled`, unless the touch came first.
  public nonisolated func cancel() { cancelSwitch.pull() }

  /// Ends the conversation.
  public func close() {
    disconnect()
    eventSink.finish()
  }

  /// Opens the key and asks what it is. A second call gives the same facts without asking again.
  /// - Throws: ``SecurityKeyError``.
  @discardableResult
  public func open() async throws -> KeyFacts {
    if let known, !isStale { return known }
    return try await act { [self] in try connect().facts }
  }

  /// What hangs together once a key is open.
  struct Session {
    let link: KeyLink
    let facts: KeyFacts
  }

  func connect() throws(SecurityKeyError) -> Session {
    // A card may have been lifted since the last act, and another one laid on.
    if let link, !link.isStillThere {
      disconnect()
      wasLaidOnAgain = true
    }
    if let link, let known {
      guard isStale else { return Session(link: link, facts: known) }
      // libfido2's view is as old as ours.
      device = nil
      try link.readInfo()
      let facts = KeyFacts(
        name: known.name, transport: known.transport, isSimulated: known.isSimulated, initReply: known.initReply,
        info: link.info)
      self.known = facts
      isStale = false
      return Session(link: link, facts: facts)
    }
    let transport: any KeyTransport
    do { transport = try endpoint.connect(cancelSwitch) } catch { throw .transport(error) }
    let link = KeyLink(transport: transport, cancel: cancelSwitch, timings: timings)
    let sink = eventSink
    let observer = endpoint.observer
    link.onEvent = { event in
      observer?.event(event)
      sink.yield(event)
    }
    link.onExchange = observer?.exchange
    do throws(SecurityKeyError) {
      try link.open()
      // Many cards come to one reader: there the answer to reset tells models apart.
      let id = endpoint.id + (link.card?.card.map { "|" + Hex.encode($0.answerToReset) } ?? "")
      if link.info != nil { Self.seenAsFIDO2.withLock { _ = $0.insert(id) } }
      // Once a FIDO2 key, always a FIDO2 key.
      if link.info == nil, Self.seenAsFIDO2.withLock({ $0.contains(id) }) {
        throw SecurityKeyError.getInfoRefused(status: 1)
      }
    } catch {
      transport.close()
      throw error
    }
    let facts = KeyFacts(
      name: link.card?.card.flatMap { HIDNode.cleaned($0.reader) } ?? endpoint.name, transport: endpoint.kindName,
      isSimulated: endpoint.isSimulated || transport.isSimulated
        || (link.info.map { SimulatedKey.isSimulated(aaguid: $0.aaguid) } ?? false),
      initReply: link.initReply ?? InitReply(capabilities: 0), info: link.info)
    self.link = link
    known = facts
    eventSink.yield(.opened(name: facts.name))
    return Session(link: link, facts: facts)
  }

  private static let seenAsFIDO2 = Locked<Set<String>>([])

  /// libfido2's view of the key, made when it is first needed: opening it sends nothing.
  func fido(_ session: Session) throws(SecurityKeyError) -> FidoDevice {
    if let device { return device }
    guard let info = session.facts.info else { throw .fido2Needed }
    let device = try FidoDevice(link: session.link, info: info, pinProtocol: pinProtocol(info)?.rawValue)
    self.device = device
    return device
  }

  /// The PIN/UV auth protocol that is used with this key.
  func pinProtocol(_ info: AuthenticatorInfo) -> PINProtocol? {
    if let only = endpoint.onlyPINProtocol, info.pinUvAuthProtocols.contains(only) {
      return PINProtocol(rawValue: only)
    }
    return avoidsProtocol2 && info.pinUvAuthProtocols.contains(1) ? .one : .preferred(info)
  }

  /// From here on protocol 1 is used, as long as the key stays open.
  func avoidProtocol2() {
    avoidsProtocol2 = true
    device = nil
    eventSink.yield(.fellBackToPINProtocol1)
  }

  /// Makes a credential, verifying the person as FORMATS.md's table says.
  /// - Throws: ``SecurityKeyError``, or what `pin` throws.
  public func makeCredential(
    _ request: RegistrationRequest, pin: PINProvider? = nil
  ) async throws -> RegistrationResponse {
    try await act { [self] in
      let session = try connect()
      let clientData = ClientData(type: .create, challenge: request.challenge, origin: request.origin)
      if request.enablesPRF, !session.facts.capabilities.supportsPRF { throw SecurityKeyError.prfUnsupported }
      guard session.facts.capabilities.supportsES256 else { throw SecurityKeyError.es256Unsupported }
      let plan = try UserVerificationPlan.plan(session.facts.info, .register, request.userVerification)
      let response: RegistrationResponse
      if session.facts.info == nil {
        let made = try U2F(link: session.link).register(
          rpIdHash: SHA256.hash(Array(request.rpID.utf8)), clientDataHash: clientData.hash,
          excludeList: request.excludeList)
        response = RegistrationResponse(
          credentialID: made.credentialID, attestationObject: made.attestationObject, clientDataJSON: clientData.json,
          evidence: session.facts.evidence)
      } else {
        do {
          response = try await register(
            request, ListCeremony(session: session, clientData: clientData, plan: plan, pin: PINSource(pin)))
        } catch let error as SecurityKeyError {
          // Only what was said to the registration itself can be about what is in it.
          guard let said = session.link.lastReply[CTAPCommand.makeCredential.rawValue]?.first,
            error == .of(CTAPStatus(rawValue: said))
          else { throw error }
          throw error.ofRegistration(isDiscoverable: request.isDiscoverable)
        }
      }
      remember(response.credentialID, of: request.rpID, session.facts)
      return response
    }
  }

  /// Gets an assertion, verifying the person as FORMATS.md's table says.
  /// - Throws: ``SecurityKeyError``, or what `pin` throws.
  public func getAssertion(_ request: AssertionRequest, pin: PINProvider? = nil) async throws -> AssertionResponse {
    try await act { [self] in
      let session = try connect()
      let clientData = ClientData(type: .get, challenge: request.challenge, origin: request.origin)
      if let salts = request.prfSalts {
        for salt in [salts.first, salts.second].compactMap({ $0 }) where salt.count != 32 {
          throw SecurityKeyError.badSalt(count: salt.count)
        }
      }
      if request.prfSalts != nil, !session.facts.capabilities.supportsPRF { throw SecurityKeyError.prfUnsupported }
      let plan = try UserVerificationPlan.plan(
        session.facts.info, request.prfSalts == nil ? .assert : .prf, request.userVerification)
      let hint = hints.lastCredential(of: request.rpID, on: mark(session.facts))
      let response: AssertionResponse
      if session.facts.info == nil {
        let made = try U2F(link: session.link).authenticate(
          rpIdHash: SHA256.hash(Array(request.rpID.utf8)), clientDataHash: clientData.hash,
          allowList: Self.hintFirst(request.allowList, hint))
        response = AssertionResponse(
          credentialID: made.credentialID, clientDataJSON: clientData.json,
          authenticatorData: made.authenticatorData, signature: made.signature, evidence: session.facts.evidence)
      } else {
        response = try await assert(
          request, ListCeremony(session: session, clientData: clientData, plan: plan, pin: PINSource(pin)), hint: hint)
      }
      if !request.allowList.isEmpty { remember(response.credentialID, of: request.rpID, session.facts) }
      return response
    }
  }

  /// PIN tries left; nil when the key has no PIN or does not say.
  public func pinTriesLeft() async throws -> Int? {
    try await act { [self] in
      let session = try connect()
      guard let info = session.facts.info else { return nil }
      return try Probe(link: session.link, info: info).pinRetries()?.triesLeft
    }
  }

  /// Options have changed: the next use asks the key again what it is.
  func forget() { isStale = true }

  /// The wire is gone: the next use begins anew.
  private func disconnect() {
    device = nil
    link?.transport.close()
    link = nil
    known = nil
    isStale = false
    avoidsProtocol2 = false
    lastTries = nil
    lostATry = false
    provenHere = []
  }

  /// Runs one act: arms the switch, lets nothing overlap, and says when it is over.
  func act<R>(_ body: () async throws -> R) async throws -> R {
    guard !isActing else { throw SecurityKeyError.transport(.busy) }
    isActing = true
    cancelSwitch.arm()
    defer {
      isActing = false
      eventSink.yield(.finished)
    }
    do {
      return try await withTaskCancellationHandler(operation: body) { [cancelSwitch] in cancelSwitch.pull() }
    } catch let error as SecurityKeyError {
      if error.endsTheConversation { disconnect() }
      if error.isNoAnswer { link?.transport.distrust() }
      // What the key said of itself may have been misheard, or may change before the next time.
      if error.restsOnFacts { forget() }
      throw error
    }
  }
}
