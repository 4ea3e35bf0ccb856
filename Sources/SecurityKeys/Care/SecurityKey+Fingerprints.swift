// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CFido2
import CryptoCore

/// An enrolled fingerprint.
public struct Fingerprint: Sendable, Hashable {
  /// The template ID.
  public let id: [UInt8]
  /// Its name, where it has one.
  public let name: String?
}

/// What was wrong with a fingerprint sample (CTAP 2.1 section 6.7, lastEnrollSampleStatus).
public enum FingerprintProblem: UInt8, Sendable, Hashable, CaseIterable {
  /// Too high on the reader.
  case tooHigh = 1
  /// Too low.
  case tooLow = 2
  /// Too far to the left.
  case tooLeft = 3
  /// Too far to the right.
  case tooRight = 4
  /// Too fast.
  case tooFast = 5
  /// Too slow.
  case tooSlow = 6
  /// Of poor quality.
  case poorQuality = 7
  /// Too skewed.
  case tooSkewed = 8
  /// Too short.
  case tooShort = 9
  /// The sample could not be merged with the others.
  case mergeFailure = 0x0A
  /// This finger is enrolled already.
  case alreadyEnrolled = 0x0B
  /// Nobody touched the reader.
  case noTouch = 0x0D
  /// Nothing was read.
  case noSample = 0x0E

  /// What to tell the person.
  public var message: String {
    switch self {
    case .tooHigh: "Too high on the sensor: a little lower."
    case .tooLow: "Too low on the sensor: a little higher."
    case .tooLeft: "Too far left: a little to the right."
    case .tooRight: "Too far right: a little to the left."
    case .tooFast, .tooShort: "Too quick: hold the finger a little longer."
    case .tooSlow: "Too long: lift the finger a little sooner."
    case .poorQuality, .mergeFailure, .noSample: "The sensor did not see it well."
    case .tooSkewed: "At too much of an angle: lay the finger straight."
    case .alreadyEnrolled: "This finger is known already: take another."
    case .noTouch: "Nothing touched the sensor."
    }
  }
}

/// authenticatorBioEnrollment (CTAP 2.1 section 6.7). Each act asks for the PIN, once.
extension SecurityKey {
  /// The enrolled fingerprints.
  /// - Throws: ``SecurityKeyError``, or what `pin` throws.
  public func fingerprints(pin: PINProvider?) async throws -> [Fingerprint] {
    try await enrolling(pin) { device, pin in
      guard let list = fido_bio_template_array_new() else { throw SecurityKeyError.library(code: FIDO_ERR_INTERNAL) }
      defer {
        var freed: OpaquePointer? = list
        fido_bio_template_array_free(&freed)
      }
      device.link.begin()
      do {
        try device.succeed(device.withPIN(pin) { fido_bio_dev_get_template_array(device.handle, list, $0) })
      } catch SecurityKeyError.status(.invalidOption) {
        // How a key says that there are none.
        return []
      }
      return (0..<fido_bio_template_array_count(list)).compactMap { i in
        guard let template = fido_bio_template(list, i) else { return nil }
        return Fingerprint(
          id: FidoDevice.bytes(fido_bio_template_id_ptr(template), fido_bio_template_id_len(template)),
          name: fido_bio_template_name(template).map { String(cString: $0) })
      }
    }
  }

  /// Enrols a finger: the person touches the reader as often as ``KeyEvent/sampleNeeded(remaining:problem:)`` asks.
  /// - Throws: ``SecurityKeyError``, or what `pin` throws. Nothing is enrolled then.
  public func enrolFingerprint(named name: String?, pin: PINProvider?) async throws -> Fingerprint {
    let sink = eventSink
    let patience = UInt32(clamping: timings.touch.components.seconds * 1000)
    return try await enrolling(pin, changes: true) { device, pin in
      guard let template = fido_bio_template_new(), let enrolment = fido_bio_enroll_new() else {
        throw SecurityKeyError.library(code: FIDO_ERR_INTERNAL)
      }
      defer {
        var (freedTemplate, freedEnrolment): (OpaquePointer?, OpaquePointer?) = (template, enrolment)
        fido_bio_template_free(&freedTemplate)
        fido_bio_enroll_free(&freedEnrolment)
      }
      device.link.begin()
      sink.yield(.sampleNeeded(remaining: 0, problem: nil))
      try device.succeed(
        device.withPIN(pin) { fido_bio_dev_enroll_begin(device.handle, template, enrolment, patience, $0) })
      // A key that never has enough is left after more samples than any key wants.
      var samples = 1
      while fido_bio_enroll_remaining_samples(enrolment) > 0 {
        sink.yield(
          .sampleNeeded(
            remaining: Int(fido_bio_enroll_remaining_samples(enrolment)),
            problem: FingerprintProblem(rawValue: fido_bio_enroll_last_status(enrolment))))
        do {
          guard samples < 100 else { throw SecurityKeyError.badAnswer("a fingerprint that never is complete") }
          device.link.begin()
          try device.succeed(fido_bio_dev_enroll_continue(device.handle, template, enrolment, patience))
        } catch {
          _ = fido_bio_dev_enroll_cancel(device.handle)
          throw error
        }
        samples += 1
      }
      if let name {
        try device.check(fido_bio_template_set_name(template, name))
        device.link.begin()
        try device.succeed(
          device.withPIN(pin) { fido_bio_dev_set_template_name(device.handle, template, $0) })
      }
      return Fingerprint(
        id: FidoDevice.bytes(fido_bio_template_id_ptr(template), fido_bio_template_id_len(template)), name: name)
    }
  }

  /// Renames a fingerprint.
  /// - Throws: ``SecurityKeyError``, or what `pin` throws.
  public func renameFingerprint(_ id: [UInt8], to name: String, pin: PINProvider?) async throws {
    try await withTemplate(id, pin, changes: false) { device, template, pin in
      try device.check(fido_bio_template_set_name(template, name))
      try device.succeed(device.withPIN(pin) { fido_bio_dev_set_template_name(device.handle, template, $0) })
    }
  }

  /// Removes a fingerprint.
  /// - Throws: ``SecurityKeyError``, or what `pin` throws.
  public func removeFingerprint(_ id: [UInt8], pin: PINProvider?) async throws {
    try await withTemplate(id, pin, changes: true) { device, template, pin in
      try device.succeed(device.withPIN(pin) { fido_bio_dev_enroll_remove(device.handle, template, $0) })
    }
  }

  private func withTemplate(
    _ id: [UInt8], _ pin: PINProvider?, changes: Bool, _ body: (FidoDevice, OpaquePointer, CheckedPIN?) throws -> Void
  ) async throws {
    try await enrolling(pin, changes: changes) { device, pin in
      guard let template = fido_bio_template_new() else { throw SecurityKeyError.library(code: FIDO_ERR_INTERNAL) }
      defer {
        var freed: OpaquePointer? = template
        fido_bio_template_free(&freed)
      }
      try device.check(fido_bio_template_set_id(template, id, id.count))
      device.link.begin()
      do { try body(device, template, pin) } catch SecurityKeyError.status(.invalidOption) {
        throw SecurityKeyError.noSuchFingerprint
      }
    }
  }

  /// - Parameter changes: whether the key's options may be others afterwards.
  private func enrolling<R>(
    _ pin: PINProvider?, changes: Bool = false, _ body: (FidoDevice, CheckedPIN?) throws -> R
  ) async throws -> R {
    try await act { [self] in
      let session = try connect()
      guard let info = session.facts.info else { throw SecurityKeyError.fido2Needed }
      guard info.option("bioEnroll") != nil || info.option("userVerificationMgmtPreview") != nil else {
        throw SecurityKeyError.notOffered("fingerprints")
      }
      guard info.option("clientPin") == true else { throw SecurityKeyError.pinNotSet }
      if changes { forget() }
      return try await withPIN(session, pin, body)
    }
  }
}
