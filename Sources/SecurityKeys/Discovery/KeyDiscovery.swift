// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CTAPWire
import CryptoCore
import Glibc

/// Finds keys.
public enum KeyDiscovery {
  /// The FIDO keys on hidraw nodes, in the order of their nodes. Nothing is opened.
  public static func list() -> [FoundKey] { keys(of: SystemNodes.all()) }

  /// The FIDO keys among `nodes`.
  static func keys(of nodes: [HIDNode]) -> [FoundKey] { FoundKey.distinguish(nodes.compactMap(FoundKey.init)) }

  /// The key that `id` names: a short id, or the beginning of one.
  /// - Throws: ``KeyAddressError``.
  public static func find(_ id: String, among keys: [FoundKey]) throws(KeyAddressError) -> FoundKey {
    if let exact = keys.first(where: { $0.id == id }) { return exact }
    let matches = keys.filter { $0.id.hasPrefix(id) }
    guard let match = matches.first else { throw .notThere(id) }
    guard matches.count == 1 else { throw .ambiguous(id, count: matches.count) }
    return match
  }

  /// The key on a hidraw node; symbolic links are followed.
  /// - Throws: ``KeyAddressError``.
  public static func find(node path: String, among nodes: [HIDNode]? = nil) throws(KeyAddressError) -> FoundKey {
    guard let resolved = realpath(path, nil) else { throw .notThere(path) }
    defer { free(resolved) }
    let real = String(cString: resolved)
    guard let node = (nodes ?? SystemNodes.all()).first(where: { $0.path == real }) else { throw .notAKey(path) }
    guard let key = FoundKey(node) else { throw .notAKey(path) }
    return key
  }
}

extension FoundKey {
  /// Whether the key can be used now. A node is opened for a moment.
  public func access() -> Access {
    switch place {
    case .node(let path): NodeLock.access(path)
    case .reader(let name): CardDiscovery.access(name)
    }
  }

  /// The way to the key.
  /// - Parameter patience: how long another program's lock is waited for.
  public func endpoint(patience: Duration = .seconds(5)) -> KeyEndpoint {
    switch place {
    case .node(let path):
      let shape = reports?.shape ?? FIDOReports.usualNodeShape
      let isSimulated = isSimulated
      return KeyEndpoint(id: identity, name: name, kindName: kindName, isSimulated: isSimulated) {
        cancel throws(TransportError) in
        let descriptor = try NodeLock.open(path, until: .after(patience), cancel)
        return HIDTransport(
          reports: ReportChannel(owning: descriptor, shape: shape), cancel: cancel, kindName: "hidraw",
          isSimulated: isSimulated)
      }
    case .reader(let reader): return .nfc(reader: reader, patience: patience)
    }
  }
}

extension FIDOReports {
  static let usualNodeShape = ReportChannel.Shape(outputSize: 64, inputSize: 64, writesReportID: true)
}
