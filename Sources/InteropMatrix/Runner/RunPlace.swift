// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import CryptoCore
import Glibc
import SecurityKeys
import VirtualAuthenticator

/// Where the key of a run is, and how to get to it again and again.
public struct RunPlace: Sendable {
  /// The way to the key: each use opens it anew.
  public let endpoint: KeyEndpoint
  /// What is known without opening it.
  public let description: RunRecord.KeyDescription
  /// Known to be no real key.
  public let isSimulated: Bool
  /// Told of each step before it begins: how a virtual key is made to wait for a touch.
  public var beforeStep: @Sendable (MatrixStep) -> Void = { _ in }
  /// What is wrong here and is no fault of the key's, after it has failed: a virtual key's state that cannot be saved.
  public var fault: @Sendable () -> (any NamedError)? = { nil }

  /// A key that was found on this computer.
  public init(_ key: FoundKey) {
    endpoint = key.endpoint()
    isSimulated = key.isSimulated
    let place: String? =
      switch key.place {
      case .node(let path): Self.systemPath(of: path)
      case .reader(let name): name
      }
    description = .init(
      name: key.name, transport: key.kindName, place: place, vendorID: key.vendorID, productID: key.productID)
  }

  /// A key behind any other endpoint.
  public init(_ endpoint: KeyEndpoint, place: String? = nil) {
    self.endpoint = endpoint
    isSimulated = endpoint.isSimulated
    description = .init(name: endpoint.name, transport: endpoint.kindName, place: place)
  }

  /// A virtual key in this process. Nobody touches it for the step that is to be cancelled; for all others its button is
  /// pressed as `key` says.
  /// - Parameter faults: what goes wrong, counted over all openings; a pulled plug takes the key's power with it.
  public static func virtual(_ key: VirtualAuthenticator, faults: FaultScript = FaultScript()) -> RunPlace {
    let socket = VirtualSocket(key, faults)
    var place = RunPlace(
      .reports(
        id: socket.id, name: "virtual key (\(key.profile.name))", kindName: "virtual", isSimulated: true,
        shape: .init(outputSize: key.profile.reportSize, inputSize: key.profile.reportSize, writesReportID: false)
      ) { () throws(TransportError) in try socket.plugIn() })
    place.fault = { key.lastStorageError }
    let usual = key.touch.policy
    place.beforeStep = { key.touch.setPolicy($0 == .cancel ? .never : usual) }
    return place
  }

  /// The node's place in sysfs: the way through buses, no serial number.
  private static func systemPath(of node: String) -> String? {
    guard let name = node.split(separator: "/").last, let real = realpath("/sys/class/hidraw/\(name)/device", nil)
    else {
      return nil
    }
    defer { free(real) }
    return String(cString: real)
  }
}

/// Where a virtual key is plugged in: each opening is a new plug.
final class VirtualSocket: Sendable {
  let id = "matrix-" + Random.bytes(8).map { String($0, radix: 16) }.joined()
  private let key: VirtualAuthenticator
  private let faults: FaultScript
  private let hosts = HostList()

  init(_ key: VirtualAuthenticator, _ faults: FaultScript) {
    self.key = key
    self.faults = faults
  }

  deinit { hosts.stopAll() }

  func plugIn() throws(TransportError) -> Int32 {
    do {
      let (descriptor, host) = try VirtualKeyHost.inProcess(key, faults: faults)
      hosts.add(host)
      return descriptor
    } catch { throw .system(call: "socketpair", errno: EIO) }
  }
}
