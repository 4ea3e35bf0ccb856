// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CFido2
import CTAPWire
import WebAuthnCore

/// Where libfido2's transport functions come back to us.
///
/// libfido2 never reaches the wire: it is handed the INIT and getInfo that we have already read, the latter made
/// canonical and showing only the PIN protocol that is to be used, and every other command goes through the link.
final class FidoBridge {
  let link: KeyLink
  private let shownInfo: [UInt8]
  private var pending: (command: UInt8, payload: [UInt8])?

  init(link: KeyLink, shownInfo: [UInt8]) {
    self.link = link
    self.shownInfo = shownInfo
  }

  /// A libfido2 device over `link`, open. The bridge must outlive it.
  func openDevice() throws(SecurityKeyError) -> OpaquePointer {
    guard let device = fido_dev_new() else { throw .library(code: FIDO_ERR_INTERNAL) }
    var io = fido_dev_io_t(open: bridgeOpen, close: bridgeClose, read: bridgeRead, write: bridgeWrite)
    var transport = fido_dev_transport_t(rx: bridgeReceive, tx: bridgeSend)
    let token = Self.registry.withLock { registry in
      registry.next += 1
      // A path of ours: one that begins "nfc:" makes Debian's libfido2 replace the transport.
      let token = "sealkey:\(registry.next)"
      registry.bridges[token] = UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
      return token
    }
    defer { Self.registry.withLock { $0.bridges[token] = nil } }
    var code = fido_dev_set_io_functions(device, &io)
    if code == FIDO_OK { code = fido_dev_set_transport_functions(device, &transport) }
    if code == FIDO_OK { code = fido_dev_open(device, token) }
    guard code == FIDO_OK else {
      var freed: OpaquePointer? = device
      fido_dev_free(&freed)
      throw .library(code: code)
    }
    return device
  }

  /// libfido2 hands C a path and nothing else; this is how the path finds its bridge.
  private static let registry = Locked<(next: Int, bridges: [String: UInt])>((0, [:]))

  fileprivate static func bridge(for path: String) -> UnsafeMutableRawPointer? {
    registry.withLock { $0.bridges[path].flatMap { UnsafeMutableRawPointer(bitPattern: $0) } }
  }

  fileprivate func send(_ command: UInt8, _ payload: [UInt8]) -> Int32 {
    pending = (command, payload)
    return 0
  }

  fileprivate func receive(_ command: UInt8, _ buffer: UnsafeMutableRawBufferPointer) -> Int32 {
    guard let request = pending, request.command == command else { return -1 }
    pending = nil
    guard let reply = reply(to: request.payload, command), reply.count <= buffer.count else { return -1 }
    buffer.copyBytes(from: reply)
    return Int32(reply.count)
  }

  private func reply(to payload: [UInt8], _ command: UInt8) -> [UInt8]? {
    switch CTAPHIDCommand(rawValue: command) {
    case .initialise:
      // Our channel is our affair: any number will do, and CBOR is offered or we would not be here.
      return payload.prefix(8) + [0, 0, 0, 1, 2, 1, 0, 0, 0x04]
    case .cbor where payload.first == CTAPCommand.getInfo.rawValue: return [0] + shownInfo
    case .cbor:
      guard let raw = try? link.exchange(payload) else { return nil }
      return Self.shown(raw, to: payload)
    default: return nil
    }
  }

  /// A reply as libfido2 likes it: canonical, and promising no more assertions than it can hold. Of what does not read here
  /// it sees nothing: libcbor makes room for whatever count stands in it.
  static func shown(_ reply: [UInt8], to request: [UInt8]) -> [UInt8] {
    guard reply.count > 1, reply[0] == 0 else { return reply }
    guard let item = try? CBORDecoder.decode(reply, at: 1) else { return [0] }
    guard let map = item.map else { return reply }
    let isAssertion = request.first == CTAPCommand.getAssertion.rawValue
    let isManagement =
      request.first == CTAPCommand.credentialManagement.rawValue
      || request.first == CTAPCommand.credentialManagementPreview.rawValue
    let most: UInt64 = isAssertion && allowListCount(request) == 1 ? 1 : 64
    let entries = map.map { entry -> (CBORValue, CBORValue) in
      if isAssertion, entry.key.int == 5, let count = entry.value.unsigned {
        return (entry.key.rewritten, .unsigned(min(count, most)))
      }
      // Totals of relying parties and of credentials: libfido2 makes room for as many as are promised.
      if isManagement, entry.key.int == 5 || entry.key.int == 9, let count = entry.value.unsigned {
        return (entry.key.rewritten, .unsigned(min(count, 1024)))
      }
      return (entry.key.rewritten, entry.value.rewritten)
    }
    return [0] + CBORValue.encode(.map(entries))
  }

  private static func allowListCount(_ request: [UInt8]) -> Int? {
    (try? CBORDecoder.decode(request, at: 1))?[3]?.array?.count
  }
}

private func bridge(of device: OpaquePointer?) -> FidoBridge? {
  guard let device, let handle = fido_dev_io_handle(device) else { return nil }
  return Unmanaged<FidoBridge>.fromOpaque(handle).takeUnretainedValue()
}

private func bridgeOpen(_ path: UnsafePointer<CChar>?) -> UnsafeMutableRawPointer? {
  path.flatMap { FidoBridge.bridge(for: String(cString: $0)) }
}
private func bridgeClose(_ handle: UnsafeMutableRawPointer?) {}
// Never called while the transport functions are set; libfido2 demands that they exist.
private func bridgeRead(
  _ handle: UnsafeMutableRawPointer?, _ buffer: UnsafeMutablePointer<UInt8>?, _ count: Int, _ wait: Int32
) -> Int32 { -1 }
private func bridgeWrite(_ handle: UnsafeMutableRawPointer?, _ buffer: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  -1
}
private func bridgeSend(
  _ device: OpaquePointer?, _ command: UInt8, _ bytes: UnsafePointer<UInt8>?, _ count: Int
) -> Int32 {
  bridge(of: device)?.send(command, [UInt8](UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : count))) ?? -1
}
private func bridgeReceive(
  _ device: OpaquePointer?, _ command: UInt8, _ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int, _ wait: Int32
) -> Int32 {
  bridge(of: device)?.receive(command, UnsafeMutableRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
    ?? -1
}
