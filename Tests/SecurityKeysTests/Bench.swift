// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc
import TestSupport
import VirtualAuthenticator
import WebAuthnCore

@testable import SecurityKeys

/// A virtual key in a socket, and everything a test needs around it.
final class Bench: Sendable {
  let virtual: VirtualAuthenticator
  let faults: FaultScript
  let key: SecurityKey
  let asked = Locked<[PINRequest]>([])
  private let socket: Socket
  /// Where ``secondKey(timings:)`` finds the key, when that is not in this process.
  private let kernel: KernelSocket?
  /// What the person types when asked.
  let typed: Locked<[UInt8]?>

  static let pin = Array("1234".utf8)
  static let quick = KeyTimings(
    touch: Pace.milliseconds(8000), command: Pace.milliseconds(8000), drain: .milliseconds(300))

  /// The key's own: the packets of a message may be as far apart as this run's pace lets them fall.
  static let timing: KeyTiming = {
    var timing = KeyTiming()
    timing.messageTimeout *= Pace.factor
    return timing
  }()
  /// For a key that waits until the test itself does something, on a machine that may be busy.
  static let patient = KeyTimings(touch: .seconds(60), command: .seconds(60), drain: .seconds(1))

  init(
    _ profile: ModelProfile = .virtual, touch: TouchControl.Policy = .automatic, faults: [Fault] = [],
    pin: [UInt8]? = Bench.pin, timings: KeyTimings = Bench.quick, timing: KeyTiming = Bench.timing,
    pinTriesFloor: Int = 3, asksAgain: Bool = false, wire: Wire = .pair
  ) throws {
    let virtual = try VirtualAuthenticator(profile: profile, touch: touch, timing: timing)
    let script = FaultScript(faults)
    let socket = Socket(virtual, script)
    self.virtual = virtual
    self.faults = script
    self.socket = socket
    typed = Locked(pin)
    kernel = wire == .pair ? nil : KernelSocket(virtual, script, wire)
    key = SecurityKey(
      Self.endpoint(socket, profile), timings: timings, pinTriesFloor: pinTriesFloor, asksAgain: asksAgain)
  }

  private static func endpoint(_ socket: Socket, _ profile: ModelProfile) -> KeyEndpoint {
    .reports(
      id: socket.id, name: "bench", kindName: "virtual", isSimulated: true,
      shape: .init(outputSize: profile.reportSize, inputSize: profile.reportSize, writesReportID: false)
    ) { () throws(TransportError) in try socket.plugIn() }
  }

  /// Where the key is plugged in.
  var endpoint: KeyEndpoint { Self.endpoint(socket, virtual.profile) }
  /// How often a finger was asked for.
  var fingers: Int { virtual.touch.requests.count { $0.kind == .fingerprint } }

  /// Another program's hold on the same key.
  func secondKey(timings: KeyTimings = Bench.quick) -> SecurityKey {
    SecurityKey(kernel?.endpoint ?? Self.endpoint(socket, virtual.profile), timings: timings)
  }

  /// Who answers when the key wants its PIN.
  var person: PINProvider {
    { [self] request in
      asked.withLock { $0.append(request) }
      guard let pin = typed.withLock({ $0 }) else { throw SecurityKeyError.pinRequired }
      return SecretBytes(pin)
    }
  }

  var socketID: String { socket.id }
  var session: KeySession { KeySession(key, pin: person) }
  var pinQuestions: Int { asked.withLock { $0.count } }
  var touches: Int { virtual.touch.requests.count }

  /// Pulls the plug.
  func unplug() { socket.unplug() }

  /// Gives the key a PIN before the test begins.
  func setPIN(_ pin: [UInt8] = Bench.pin) async throws { try await key.setPIN(SecretBytes(pin)) }

  static let rpID = "sealmessenger.com"

  static func registration(
    exclude: [[UInt8]] = [], uv: UserVerificationRequirement = .preferred, prf: Bool = false
  ) -> RegistrationRequest {
    RegistrationRequest(
      rpID: rpID, rpName: "Seal", origin: "https://sealmessenger.com", challenge: Random.bytes(32),
      userID: Random.bytes(16), userName: "Ada", userDisplayName: "Ada",
      excludeList: exclude.map { CredentialDescriptor(id: $0) }, userVerification: uv, enablesPRF: prf)
  }

  static func assertion(
    _ ids: [[UInt8]], uv: UserVerificationRequirement = .preferred, salts: PRFSalts? = nil
  ) -> AssertionRequest {
    AssertionRequest(
      rpID: rpID, origin: "https://sealmessenger.com", challenge: Random.bytes(32),
      allowList: ids.map { CredentialDescriptor(id: $0) }, userVerification: uv, prfSalts: salts)
  }

  func register(_ request: RegistrationRequest = Bench.registration()) async throws -> RegistrationResponse {
    try await session.makeCredential(request)
  }

  func assert(_ request: AssertionRequest) async throws -> AssertionResponse {
    try await session.getAssertion(request)
  }

  static func flags(_ response: RegistrationResponse) throws -> AuthenticatorFlags {
    try AttestationObject(parsing: response.attestationObject).authenticatorData.flags
  }

  static func flags(_ response: AssertionResponse) throws -> AuthenticatorFlags {
    try AuthenticatorData(parsing: response.authenticatorData).flags
  }
}

/// Where the virtual key is plugged in: each opening is a new plug, as with a key that is closed and opened again.
final class Socket: Sendable {
  let id: String
  private let virtual: VirtualAuthenticator
  private let faults: FaultScript
  private let hosts = Locked<[VirtualKeyHost]>([])

  init(_ virtual: VirtualAuthenticator, _ faults: FaultScript) {
    self.virtual = virtual
    self.faults = faults
    id = Hex.encode(Random.bytes(8))
  }

  deinit { unplug() }

  func plugIn() throws(TransportError) -> Int32 {
    do {
      let (descriptor, new) = try VirtualKeyHost.inProcess(virtual, faults: faults)
      hosts.withLock { $0 = $0.filter(\.isRunning) + [new] }
      return descriptor
    } catch { throw .system(call: "socketpair", errno: EIO) }
  }

  func unplug() { for host in hosts.withLock({ $0 }) { host.stop() } }
}

/// The stable name of what went wrong; nil when nothing did.
func failure<R>(_ body: () async throws -> R) async -> String? {
  do {
    _ = try await body()
    return nil
  } catch let error as any NamedError { return error.name } catch { return "\(error)" }
}
