// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore

/// What the system knows about one hidraw node, before anything is opened.
public struct HIDNode: Sendable, Hashable {
  /// `/dev/hidrawN`.
  public var path: String
  /// Where its HID device is in sysfs.
  public var systemPath: String
  /// Bus, vendor and product, from HID_ID.
  public var bus: UInt16?
  /// USB vendor ID.
  public var vendorID: UInt16?
  /// USB product ID.
  public var productID: UInt16?
  /// HID_NAME, which a device without USB strings has too.
  public var hidName: String?
  /// HID_PHYS: the way to the socket it is plugged into.
  public var physicalPath: String?
  /// HID_UNIQ: the serial number, where there is one.
  public var unique: String?
  /// The manufacturer's USB string.
  public var manufacturer: String?
  /// The product's USB string.
  public var product: String?
  /// The HID report descriptor.
  public var descriptor: [UInt8]

  /// A node of which no more than this is known.
  public init(path: String, systemPath: String, descriptor: [UInt8]) {
    self.path = path
    self.systemPath = systemPath
    self.descriptor = descriptor
  }

  /// Takes bus, vendor and product from HID_ID, `0003:00001050:00000407`.
  public mutating func setHIDID(_ text: String) {
    let parts = text.split(separator: ":").map { UInt32($0, radix: 16) }
    guard parts.count == 3 else { return }
    bus = parts[0].flatMap(UInt16.init(exactly:))
    vendorID = parts[1].flatMap(UInt16.init(exactly:))
    productID = parts[2].flatMap(UInt16.init(exactly:))
  }

  /// Whether the kernel made it up: a uhid device, or one on a virtual USB controller.
  public var isSimulated: Bool {
    systemPath.split(separator: "/").contains {
      $0 == "uhid" || $0.hasPrefix("dummy_hcd") || $0.hasPrefix("vhci_hcd") || $0.hasPrefix("usbip")
    }
  }

  /// Whether it hangs on a USB bus, a real one or one that the kernel made up.
  public var isOnUSB: Bool {
    systemPath.split(separator: "/").contains {
      $0.hasPrefix("usb") && $0.dropFirst(3).allSatisfy(\.isNumber) && $0 != "usb"
    }
  }

  /// What to call it: USB strings, then HID_NAME, then what the table of models says, then the numbers.
  public var name: String {
    let made = Self.cleaned(manufacturer)
    if let product = Self.cleaned(product) {
      guard let made, !product.lowercased().hasPrefix(made.lowercased()) else { return product }
      return "\(made) \(product)"
    }
    if let hidName = Self.cleaned(hidName) { return hidName }
    guard let vendorID, let productID else { return "security key" }
    return KnownModels.name(vendorID: vendorID, productID: productID)
      ?? "\(Self.hex(vendorID)):\(Self.hex(productID))"
  }

  /// Text that stays the same for this key: its serial number or, as most keys have none, the socket it sits in.
  var identity: String {
    let numbers = "\(vendorID.map(Self.hex) ?? "-"):\(productID.map(Self.hex) ?? "-")"
    if let unique = Self.cleaned(unique) { return "hid|\(numbers)|\(unique)" }
    if let physical = Self.cleaned(physicalPath) { return "hid|\(numbers)|at|\(physical)" }
    return "hid|\(numbers)|sys|\(systemPath)"
  }

  static func hex(_ number: UInt16) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 4 - digits.count) + digits
  }

  /// A device's own text made fit for a terminal: no control characters, no edges of blanks; nil when nothing is left.
  static func cleaned(_ text: String?) -> String? {
    guard let text else { return nil }
    var scalars = text.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }
      .map { $0.properties.generalCategory == .control || $0.properties.isWhitespace ? " " : $0 }
    while scalars.first == " " { scalars.removeFirst() }
    while scalars.last == " " { scalars.removeLast() }
    guard !scalars.isEmpty else { return nil }
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars.prefix(100))
    return String(view)
  }
}
