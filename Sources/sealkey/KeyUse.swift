// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import SecurityKeys
import VirtualAuthenticator
import WebAuthnCore

/// Opens the key that the person means, talks to the person while it works, and closes it whatever happens.
extension Invocation {
  /// - Parameters:
  ///   - touches: how many touches the whole act takes; 0 for one that takes none or does not count them.
  ///   - before: how many of them another key, or an earlier part of the act, has had.
  func withKey<R: Sendable>(
    touches: Int = 0, before: Int = 0, _ body: @Sendable (SecurityKey, KeySession) async throws -> R
  ) async throws -> R {
    try await withEndpoint { endpoint, host in
      defer { host?.stop() }
      do { return try await use(endpoint, Act(touches: touches, done: before), rememberedPIN(), body) } catch {
        throw cause(of: error, host)
      }
    }
  }

  /// Uses a key, closes it, opens the same one again and uses it once more. The PIN is asked for once.
  /// - Parameter touches: of both uses together; the second takes one.
  func withKeyTwice<A: Sendable, B: Sendable>(
    touches: Int, _ first: @Sendable (KeySession) async throws -> A,
    then second: @Sendable (A, KeySession) async throws -> B
  ) async throws -> B {
    try await withEndpoint { endpoint, host in
      let pin = rememberedPIN()
      let made: A
      do {
        made = try await use(endpoint, Act(touches: touches), pin) { _, session in try await first(session) }
        host?.stop()
      } catch {
        host?.stop()
        throw cause(of: error, host)
      }
      // The virtual key is unplugged and plugged in again; any other is where it was.
      let (again, secondHost) = try host.map { try replugged($0) } ?? (endpoint, nil)
      defer { secondHost?.stop() }
      do {
        return try await use(again, Act(touches: touches, done: touches - 1), pin, follows: true) { _, session in
          try await second(made, session)
        }
      } catch { throw cause(of: error, secondHost) }
    }
  }

  /// Finds the key that is meant. Where it was chosen among several by a touch, the others are made sure of at the end:
  /// a program that ended before could leave one blinking.
  private func withEndpoint<R: Sendable>(
    _ body: @Sendable (KeyEndpoint, VirtualKeyHost?) async throws -> R
  ) async throws -> R {
    let (endpoint, host, others) = try await endpoint()
    do {
      let result = try await body(endpoint, host)
      await others?.value
      return result
    } catch {
      await others?.value
      throw error
    }
  }

  /// Touches that a command takes, and how many of them were asked for before the key was opened again.
  private struct Act {
    let touches: Int
    var done = 0
  }

  /// The PIN, asked for at most once in this run.
  func rememberedPIN() -> PINProvider {
    let memory = RememberedPIN(PINEntry.provider(pinWay(pinDescriptor)))
    return { request in try await memory.ask(request) }
  }

  /// What a virtual key in this process failed with, when its place on the disk and not the act was at fault: a key can only
  /// say that it failed.
  private func cause(of error: any Error, _ host: VirtualKeyHost?) -> any Error { host?.key.lastStorageError ?? error }

  private func use<R: Sendable>(
    _ endpoint: KeyEndpoint, _ act: Act, _ pin: @escaping PINProvider, follows: Bool = false,
    _ body: @Sendable (SecurityKey, KeySession) async throws -> R
  ) async throws -> R {
    let key = SecurityKey(
      endpoint, timings: timings, pinTriesFloor: options.has("last-tries") ? 0 : 3,
      asksAgain: pinWay(pinDescriptor).isInteractive, refusedPINs: refusedPINs,
      hints: StoredHints(dataDirectory: dataDirectory), follows: follows)
    let isOneOfSeveral = KeyDiscovery.list().count > 1
    let talk = Conversation(
      touches: act.touches, done: act.done, keyName: isOneOfSeveral ? endpoint.name : nil, patience: timings.touch)
    let conversation = Task { await converse(key, talk) }
    do {
      let result = try await body(key, KeySession(key, pin: pin))
      await key.close()
      await conversation.value
      return result
    } catch {
      await key.close()
      await conversation.value
      throw error
    }
  }

  /// Whoever finds a key without a PIN is whoever it stands for.
  func warnOfNoPIN(_ key: SecurityKey) async {
    guard let info = try? await key.open().info, info.option("clientPin") == false, info.option("uv") != true else {
      return
    }
    say("This key has no PIN: whoever finds it can use it. To set one: sealkey pin set")
  }

  /// Says what the key wants, when it wants it.
  private func converse(_ key: SecurityKey, _ talk: Conversation) async {
    var talk = talk
    for await event in key.events { tell(event, in: &talk) }
  }

  /// Says what an event means for the person, on the terminal, and on the desktop where nobody watches one.
  func tell(_ event: KeyEvent, in talk: inout Conversation, indent: String = "") {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    for line in talk.lines(about: event, at: Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000) {
      say(indent + line.text)
      if line.wantsThePerson, !isQuiet { Desktop.notify(line.text) }
    }
  }

  private func endpoint() async throws -> (KeyEndpoint, VirtualKeyHost?, others: Task<Void, Never>?) {
    switch key {
    case .virtual(let model):
      let (endpoint, host) = try virtualKey(model)
      return (endpoint, host, nil)
    case .udp(let port, let reply): return (.udp(port: port, replyPort: reply), nil, nil)
    case .node(let path): return (try KeyDiscovery.find(node: path).endpoint(), nil, nil)
    case .shortID(let id):
      return (try KeyDiscovery.find(id, among: Inventory.now().entries.map(\.key)).endpoint(), nil, nil)
    case .nfc(let reader): return (.nfc(reader: reader), nil, nil)
    case nil:
      switch await Contenders.now() {
      case .none: throw KeyChoiceError.noKey
      case .one(let key): return (key.endpoint(), nil, nil)
      case .several(let keys):
        let (key, others) = try await touched(keys, to: "use")
        return (key.endpoint(), nil, others)
      }
    }
  }

  /// Among several keys, the one that is touched.
  func touched(_ keys: [FoundKey], to verb: String) async throws -> (FoundKey, others: Task<Void, Never>) {
    let readers = keys.contains { $0.kindName == "pcsc" }
    let call =
      "There are several keys. Touch the one you want to \(verb)"
      + (readers ? ", or lay it on a card reader; lift it first if it lies there." : ".")
    say(call)
    if !isQuiet { Desktop.notify(call) }
    do {
      let chosen = try await KeyChoice.touched(
        among: keys.map { $0.endpoint() }, timings: timings, pinTriesFloor: options.has("last-tries") ? 0 : 3)
      say("Using \(keys[chosen.index].name).")
      return (keys[chosen.index], chosen.others)
    } catch SecurityKeyError.transport(.timedOut) { throw KeyChoiceError.severalKeys }
  }

  /// The built-in virtual key, its state in the data directory.
  func virtualKey(_ model: String?) throws -> (KeyEndpoint, VirtualKeyHost?) {
    try plugged(keptVirtualKey(model))
  }

  /// The built-in key itself, with its state in the data directory.
  func keptVirtualKey(_ model: String?) throws -> VirtualAuthenticator {
    try makeVirtualKey(model, storage: .file(path: "\(try madeDataDirectory())/\(Self.virtualState(model))"))
  }

  /// The file in the data directory that holds a built-in key: each model is a key of its own, and the usual one is the
  /// usual one also when it is asked for by name.
  private static func virtualState(_ model: String?) -> String {
    guard let model, model != ModelProfile.virtual.name else { return "virtual-key" }
    return "virtual-key-\(model)"
  }

  /// Says whether the states of built-in keys read; none is changed.
  func checkVirtualKeys(_ report: inout VerificationReport) {
    for model in ModelProfile.builtIn.map(\.name) {
      let name = Self.virtualState(model)
      let path = "\(dataDirectory)/\(name)"
      guard access(path, F_OK) == 0 else { continue }
      do {
        _ = try makeVirtualKey(model, storage: .file(path: path))
        report.add(.good, "virtualKey", name, "The built-in key's state reads.")
      } catch let error as any NamedError {
        report.add(error.name == "virtualKeyInUse" ? .note : .bad, error.name, name, error.message)
      } catch { report.add(.bad, "unexpected", name, "\(error)") }
    }
  }

  private func plugged(_ key: VirtualAuthenticator) throws -> (KeyEndpoint, VirtualKeyHost?) {
    let (descriptor, host) = try VirtualKeyHost.inProcess(key)
    return (
      .reports(id: "virtual", name: "virtual key", kindName: "virtual", isSimulated: true) { descriptor }, host
    )
  }

  private func replugged(_ host: VirtualKeyHost) throws -> (KeyEndpoint, VirtualKeyHost?) {
    host.key.powerCycle()
    return try plugged(host.key)
  }

  func makeVirtualKey(_ model: String?, storage: VirtualAuthenticator.Storage) throws -> VirtualAuthenticator {
    guard let profile = ModelProfile.named(model ?? "virtual") else {
      throw UsageError.badValue(
        option: "--key", value: "virtual:\(model ?? "")",
        wanted: "a model of: " + ModelProfile.all.map(\.name).joined(separator: ", "))
    }
    let how = options["virtual-touch"] ?? "auto"
    let policy: TouchControl.Policy
    switch how {
    case "auto": policy = .automatic
    case "prompt": policy = .prompt(VirtualTouchPrompt.ask)
    default:
      guard let milliseconds = Int64(how), (0...3_600_000).contains(milliseconds) else {
        throw UsageError.badValue(option: "--virtual-touch", value: how, wanted: "auto, prompt or milliseconds")
      }
      policy = .after(milliseconds: milliseconds)
    }
    return try VirtualAuthenticator(profile: profile, storage: storage, touch: policy)
  }
}

/// Asks the person to press Enter in the virtual key's stead.
enum VirtualTouchPrompt {
  static let ask: @Sendable (TouchControl.PendingTouch) -> Void = { pending in
    guard let terminal = try? Terminal() else { return pending.refuse() }
    let question = "The virtual key waits. Press Enter to touch it, or n and Enter to refuse: "
    guard let answer = try? terminal.ask(question, limit: 8, hidden: false),
      !answer.isEqual(to: SecretBytes(Array("n".utf8)))
    else { return pending.refuse() }
    pending.approve()
  }
}

/// Why no key could be chosen.
enum KeyChoiceError: NamedError, Hashable {
  case noKey
  case severalKeys

  var name: String {
    switch self {
    case .noKey: "noKey"
    case .severalKeys: "severalKeys"
    }
  }
  var message: String {
    switch self {
    case .noKey: "No security key is plugged in."
    case .severalKeys: "There are several keys and none was touched."
    }
  }
  var next: String {
    switch self {
    case .noKey: "Plug a key in, or name a card reader: --key nfc. Or try the built-in key: --key virtual"
    case .severalKeys: "Name one with --key; sealkey list shows them."
    }
  }
  var kind: FaultKind { .noKey }
}
