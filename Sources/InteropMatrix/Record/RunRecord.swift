// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import WebAuthnCore

/// One run of one key: what was sent, what came back, and what was seen beside it. Everything in it is public.
///
/// The cells of the tables are not stored as a belief: they are computed from this whenever they are needed, written
/// beside it for readers, and compared when a record is verified.
public struct RunRecord: Sendable, Hashable {
  /// The member `format` of a record's file.
  public static let format = "sealkey.matrix-run"
  /// The version of the file's form that this program writes, and the only one it reads.
  public static let version: Int64 = 1
  /// The largest file that is read, in bytes.
  public static let maximumSize = 4 << 20

  /// What made the record.
  public var tool: String
  /// No real key, by the word of the program that made it; SimulationSigns looks for itself.
  public var isSimulated: Bool
  /// 32 random bytes from which every challenge of the run is made.
  public var nonce: [UInt8]
  /// Seconds since 1970.
  public var startedAt: Int64
  /// Seconds since 1970; nil while the run can be continued.
  public var finishedAt: Int64?
  /// Who ran it, when they wished to say so.
  public var tester: String?
  /// The key.
  public var key: KeyDescription
  /// The computers, the first one first.
  public var hosts: [HostDescription]
  /// How the key was before.
  public var before: KeyState
  /// How it was after.
  public var after: KeyState?
  /// The device that the run endorses, made for it.
  public var device: TestDevice
  /// What was done.
  public var steps: [StepRecord]

  /// What is known of the key besides its own word.
  public struct KeyDescription: Sendable, Hashable {
    /// What it calls itself, or is called.
    public var name: String
    /// `hidraw`, `pcsc`, `udp` or `virtual`.
    public var transport: String
    /// Where the node is in sysfs, or the reader's name.
    public var place: String?
    /// USB vendor and product.
    public var vendorID: UInt16?
    /// USB product.
    public var productID: UInt16?
    /// Version from INIT: major, minor, build.
    public var deviceVersion: [UInt8]
    /// Capability byte of INIT.
    public var capabilities: UInt8
    /// The serial number, only when the tester asked for it.
    public var serial: String?

    /// The USB transport in the sheet's words.
    public var transportName: String { transport == "pcsc" ? "NFC" : transport == "hidraw" ? "USB" : transport }

    /// All parts at once.
    public init(
      name: String, transport: String, place: String? = nil, vendorID: UInt16? = nil, productID: UInt16? = nil,
      deviceVersion: [UInt8] = [0, 0, 0], capabilities: UInt8 = 0, serial: String? = nil
    ) {
      self.name = name
      self.transport = transport
      self.place = place
      self.vendorID = vendorID
      self.productID = productID
      self.deviceVersion = deviceVersion
      self.capabilities = capabilities
      self.serial = serial
    }
  }

  /// A computer, as far as it matters to the result.
  public struct HostDescription: Sendable, Hashable {
    /// A digest that tells two computers apart and names neither; other for every run.
    public var mark: [UInt8]
    /// Kernel name and release.
    public var kernel: String
    /// libfido2's version.
    public var libfido2: String
    /// pcscd's version, where a reader was used.
    public var pcscd: String?

    /// All parts at once.
    public init(mark: [UInt8], kernel: String, libfido2: String, pcscd: String? = nil) {
      self.mark = mark
      self.kernel = kernel
      self.libfido2 = libfido2
      self.pcscd = pcscd
    }
  }

  /// The key's own state.
  public struct KeyState: Sendable, Hashable {
    /// The raw getInfo reply without its status byte; empty for a key that speaks only U2F.
    public var info: [UInt8]
    /// PIN tries left.
    public var pinTries: Int?
    /// Discoverable credentials on the key.
    public var discoverable: Int?

    /// All parts at once.
    public init(info: [UInt8], pinTries: Int?, discoverable: Int?) {
      self.info = info
      self.pinTries = pinTries
      self.discoverable = discoverable
    }
  }

  /// The public halves of a device that was made for the run, and its private halves locked by the key's secret.
  public struct TestDevice: Sendable, Hashable {
    /// 65 bytes.
    public var publicKey: [UInt8]
    /// 32 or 1,220 bytes.
    public var kemBundle: [UInt8]
    /// 32 bytes.
    public var salt: [UInt8]
    /// The locked halves: what shows later that a key gives the same secret, without anybody keeping the secret.
    public var locked: [UInt8]?

    /// All parts at once.
    public init(publicKey: [UInt8], kemBundle: [UInt8], salt: [UInt8], locked: [UInt8]? = nil) {
      self.publicKey = publicKey
      self.kemBundle = kemBundle
      self.salt = salt
      self.locked = locked
    }
  }
}

/// One step of a run.
public struct StepRecord: Sendable, Hashable {
  /// Which.
  public var step: MatrixStep
  /// Why nothing was done; nil when something was.
  public var skipped: String?
  /// Each try.
  public var attempts: [Attempt]

  /// All parts at once.
  public init(_ step: MatrixStep, attempts: [Attempt] = [], skipped: String? = nil) {
    self.step = step
    self.attempts = attempts
    self.skipped = skipped
  }

  /// One try at a step.
  public struct Attempt: Sendable, Hashable {
    /// Which computer, by its place in the list.
    public var host: Int
    /// The exact client data that was hashed.
    public var clientDataJSON: [UInt8]
    /// Requests and replies of makeCredential and getAssertion, or the APDUs of U2F; nothing that carries a PIN.
    public var exchanges: [Exchange]
    /// A U2F key's answer in WebAuthn's form.
    public var answer: Answer?
    /// What the program made of it, when that was no success: the stable name of the error.
    public var failure: String?
    /// The raw status behind the failure.
    public var status: Int?
    /// How often the key was seen asking for a touch.
    public var touches: Int
    /// Milliseconds to the first sign that the key wants a touch.
    public var firstKeepalive: Int?
    /// Milliseconds to the answer.
    public var duration: Int
    /// Whether the secret that came opens the lock.
    public var opensLock: Bool?

    /// A try of which nothing is known yet.
    public init(host: Int, clientDataJSON: [UInt8]) {
      self.host = host
      self.clientDataJSON = clientDataJSON
      exchanges = []
      touches = 0
      duration = 0
    }
  }

  /// A request and its reply, raw; of CTAP2 with command byte and status byte.
  public struct Exchange: Sendable, Hashable {
    /// To the key.
    public var request: [UInt8]
    /// From the key.
    public var reply: [UInt8]
    /// Both.
    public init(request: [UInt8], reply: [UInt8]) {
      self.request = request
      self.reply = reply
    }
  }

  /// What a U2F key said, as WebAuthn has it.
  public struct Answer: Sendable, Hashable {
    /// The attestation object of a registration.
    public var attestationObject: [UInt8]?
    /// The credential ID of an assertion.
    public var credentialID: [UInt8]?
    /// The authenticator data of an assertion.
    public var authenticatorData: [UInt8]?
    /// The signature of an assertion.
    public var signature: [UInt8]?
    /// Nothing yet.
    public init() {}
  }
}
