// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import WebAuthnCore

/// What the verbs do with this computer's store.
extension Invocation {
  var store: LocalStore { LocalStore(path: dataDirectory) }

  static let noStore = OptionSpec("no-store", nil, "keep nothing of this on this computer")

  /// Keeps what is worth keeping of a ceremony. A store that cannot be written is said, and does not undo what a key
  /// has done.
  func keep(_ change: (inout KnownPeople) throws -> Void) async {
    if options.has("no-store") { return }
    do { try await store.updatePeople(change) } catch {
      losses.add("not kept on this computer", error as? any NamedError ?? Unexpected("\(error)"))
    }
  }

  /// Everybody who is known here; nobody when the store does not read, which is said.
  func knownPeople() -> KnownPeople {
    do { return try store.people() } catch {
      let named = error as? any NamedError
      say("The store does not read: \(named?.message ?? "\(error)") [\(named?.name ?? "unexpected")]")
      return KnownPeople()
    }
  }

  /// A capsule in the light of what is known here.
  func reading(
    of capsule: Capsule, remembering: LocalStore.Remembering, also change: (inout CapsuleContext) -> Void = { _ in }
  ) async throws -> EstateReading {
    var context = try capsuleContext(capsule)
    change(&context)
    let reading = try await store.read(
      capsule, context, remembering: options.has("no-store") ? .never : remembering)
    if let problem = reading.storeProblem { say("Not kept on this computer: \(problem.message) [\(problem.name)]") }
    return reading
  }

  /// Whether this is the name of a device that is kept here. It is no file's then, whatever lies in the folder in which
  /// somebody happens to be; with a slash (./laptop) it is.
  private func isKeptDevice(_ text: String) -> Bool { !text.contains("/") && store.deviceNames.contains(text) }

  /// Whether this is the file of a device.
  private func isDeviceFile(_ text: String) -> Bool {
    text.contains("/") || (!isKeptDevice(text) && access(text, F_OK) == 0)
  }

  private func fromDeviceFile<R: ~Copyable>(_ path: String, _ body: (String) throws -> R) throws -> R {
    try FileKind.reading(path, as: [.device], "a device's file") { try body(path) }
  }

  /// A device by the name under which it is kept here, or from a file.
  func device(_ text: String) throws -> PrivateHalves {
    let (ask, tries) = PassphraseEntry.existing(try descriptor("passphrase-fd"))
    if isDeviceFile(text) {
      return try fromDeviceFile(text) { try DeviceFile.read($0, passphrase: ask, tries: tries) }
    }
    return try store.device(text, passphrase: ask, tries: tries)
  }

  /// The public side of a device, for which nobody is asked for a passphrase.
  func publicHalves(_ text: String) throws -> PublicHalves {
    if isDeviceFile(text) { return try fromDeviceFile(text) { try DeviceFile.publicHalves($0) } }
    return try store.publicHalves(text)
  }

  /// The public side of a device, by the name under which it is kept here or from a file; made in the store when it is not
  /// there.
  func deviceOrNew(_ text: String) async throws -> (halves: PublicHalves, isNew: Bool) {
    if isDeviceFile(text) { return try fromDeviceFile(text) { try DeviceFile.readOrMake($0) } }
    return try await store.deviceOrNew(text)
  }

  /// Whether ``deviceOrNew(_:)`` would do: for asking before a person touches a key.
  func checkDeviceOrNew(_ text: String) throws {
    if isDeviceFile(text), access(text, F_OK) != 0 { return try AtomicFile.checkCanMake(text) }
    do { _ = try publicHalves(text) } catch StoreError.deviceNotFound {}
  }

  /// Whether a device of that name can be kept here: for asking before a person touches a key.
  func checkFreeDevice(_ name: String) throws {
    do { _ = try store.publicHalves(name) } catch StoreError.deviceNotFound { return }
    throw DeviceTaken(device: name)
  }

  /// The same, but what is neither kept here nor a file becomes a file, which is said.
  func deviceOrNewFile(_ text: String) throws -> PublicHalves {
    if isKeptDevice(text) { return try store.publicHalves(text) }
    let device = try fromDeviceFile(text) { try DeviceFile.readOrMake($0) }
    if device.isNew { say("Wrote \(text): this computer's device. It holds secrets; keep it to yourself.".printable) }
    return device.halves
  }

  /// Whoever acts in an estate: the identity and the device that the person named, or the one device of this computer
  /// that speaks for somebody in the record.
  func actor(in capsule: Capsule) throws -> (holder: DirectoryRecord, device: String, isSimulated: Bool) {
    let people = try store.people()
    var named: (record: DirectoryRecord, isSimulated: Bool)?
    if let file = options["identity"] { named = try identity(file) }
    let names = options["device"].map { [$0] } ?? store.deviceNames
    var found: [(DirectoryRecord, String, Bool)] = []
    for name in names {
      let key = try publicHalves(name).devicePublicKey
      let hashes = capsule.identities.values.filter { identity in
        identity.deviceEndorsements.contains { $0.devicePublicKey == key }
      }.map(\.rootHash)
      if let named {
        if hashes.contains(named.record.rootHash) || options.has("device") {
          found.append((named.record, name, named.isSimulated))
        }
        continue
      }
      for hash in hashes { if let record = people.records[hash] { found.append((record, name, false)) } }
    }
    guard let first = found.first else {
      // Endorsed here, and not yet in the record: nothing is missing on this computer.
      let here = named.map { [$0.record] } ?? people.live
      for name in names {
        let key = try publicHalves(name).devicePublicKey
        if let record = here.first(where: {
          capsule.identities[$0.rootHash] != nil && (try? VerifiedIdentity(record: $0))?.device(key) != nil
        }) {
          throw ActorError.notInRecordYet(person: record.displayName, device: name)
        }
      }
      // Somebody else's estate: whoever this computer's devices speak for is said, and whose act it would be.
      let holders = capsule.namedHolders.map { hash in
        people.records[hash]?.displayName ?? capsule.identities[hash]?.displayName ?? String(hash.prefix(8))
      }
      let keys = try names.map { try publicHalves($0).devicePublicKey }
      let mine = here.filter { record in
        let verified = try? VerifiedIdentity(record: record)
        return keys.contains { verified?.device($0) != nil }
      }
      if let person = named?.record ?? mine.first, !capsule.namedHolders.contains(person.rootHash) {
        throw HolderActError.notAKeyHolder(name: person.displayName, holders: holders)
      }
      throw ActorError.none(holders: holders)
    }
    guard found.count == 1 else { throw ActorError.several(found.map { "\($0.0.displayName) with \($0.1)" }) }
    return first
  }
}

/// Another device has that name. Its file is not to be moved: it may hold a share.
struct DeviceTaken: NamedError, Hashable {
  let device: String

  let name = "fileExists"
  let kind = FaultKind.file
  var message: String { "A device \(device) is kept here already." }
  var next: String { "Choose another name; sealkey device export \(device) shows this one." }
}

/// Why it is not clear who acts.
enum ActorError: NamedError, Hashable {
  case none(holders: [String])
  case several([String])
  case notInRecordYet(person: String, device: String)

  var name: String {
    switch self {
    case .none: "noDeviceKey"
    case .several: "severalDevices"
    case .notInRecordYet: "noShare"
    }
  }
  var message: String {
    switch self {
    case .notInRecordYet(let person, let device):
      "The device \(device) speaks for \(person), and the record does not know it yet: it holds no share there."
    case .none(let holders):
      "No device of this computer speaks for a key holder of this estate. \(HolderActError.sentence(naming: holders))"
    case .several(let who): "More than one device of this computer could act: \(who.joined(separator: "; "))."
    }
  }
  var next: String {
    switch self {
    case .notInRecordYet:
      "A phone with Seal must publish the endorsement that sign-in wrote, and the owner must seal again after that. "
        + "Until then use a device that the record knows."
    case .none:
      "If you are one of them: use the computer whose device the record knows, or give that device's file with --device and "
        + "your identity record with --identity. A device made now is in no record: sealkey sign-in endorses it, a phone with "
        + "Seal must publish that, and the owner must seal again."
    case .several: "Say which with --device."
    }
  }
  var kind: FaultKind { .refused }
}

extension Capsule {
  /// The root hashes of the key holders whom the newest statement in the file names. Nothing of it was checked.
  var namedHolders: [String] {
    let newest = events.filter { $0.kind == .epochPublished }.max { $0.logPosition < $1.logPosition }
    return newest.flatMap { try? EpochPublishedPayload(parsing: $0.terms.payload) }?.custodianHashes ?? []
  }
}

extension LocalStore {
  /// The names of the devices that are kept here, by public key; one that does not read is left out.
  func publicDeviceNames() -> [[UInt8]: String] {
    var names: [[UInt8]: String] = [:]
    for name in deviceNames {
      if let halves = try? publicHalves(name) { names[halves.devicePublicKey] = name }
    }
    return names
  }
}
