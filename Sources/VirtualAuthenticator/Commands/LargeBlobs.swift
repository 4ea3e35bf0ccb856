// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import WebAuthnCore

/// A large-blob array that is being written.
struct LargeBlobWrite {
  let expectedLength: Int
  var bytes: [UInt8] = []
}

/// authenticatorLargeBlobs (CTAP 2.1 section 6.10).
extension KeyCore {
  private var maxFragmentLength: Int { profile.info.effectiveMaxMsgSize - 64 }

  func largeBlobs(_ p: CommandParameters) throws(CTAPStatus) -> [UInt8] {
    let get = try p.number(1)
    let set = try p.bytes(2)
    let offset = try p.number(3)
    let length = try p.number(4)
    let param = try p.bytes(5)
    let number = try p.number(6)
    guard let offset, offset >= 0, (get == nil) != (set == nil) else { throw .invalidParameter }
    if let get {
      guard length == nil, param == nil, number == nil, get >= 0 else { throw .invalidParameter }
      guard get <= maxFragmentLength else { throw .invalidLength }
      let stored = facts.largeBlobs
      guard offset <= stored.count else { throw .invalidParameter }
      return CBORValue.encode(.intMap([(1, .bytes(Array(stored[offset...].prefix(get))))]))
    }
    try writeLargeBlobs(set ?? [], offset: offset, length: length, param: param, number: number)
    return []
  }

  private func writeLargeBlobs(
    _ part: [UInt8], offset: Int, length: Int?, param: [UInt8]?, number: Int?
  ) throws(CTAPStatus) {
    guard part.count <= maxFragmentLength else { throw .invalidLength }
    if offset == 0 {
      guard let length else { throw .invalidParameter }
      guard length <= max(1024, profile.info.maxSerializedLargeBlobArray ?? 1024) else { throw .largeBlobStorageFull }
      guard length >= 17 else { throw .invalidParameter }
      largeBlobWrite = LargeBlobWrite(expectedLength: length)
    } else if length != nil {
      throw .invalidParameter
    }
    guard var write = largeBlobWrite, offset == write.bytes.count else { throw .invalidSequence }
    if isProtected || alwaysUv {
      guard let param else { throw .puatRequired }
      let little = (0..<4).map { UInt8(offset >> (8 * $0) & 0xFF) }
      let signed = [UInt8](repeating: 0xFF, count: 32) + [0x0C, 0x00] + little + SHA256.hash(part)
      try verifyToken(param, protocol: try pinProtocol(number), message: signed, permission: .largeBlobWrite)
    }
    guard offset + part.count <= write.expectedLength else { throw .invalidParameter }
    write.bytes += part
    guard write.bytes.count == write.expectedLength else {
      largeBlobWrite = write
      return
    }
    largeBlobWrite = nil
    let body = Array(write.bytes.dropLast(16))
    guard SHA256.hash(body).prefix(16) == write.bytes.suffix(16) else { throw .integrityFailure }
    facts.largeBlobs = write.bytes
    try save()
  }
}
