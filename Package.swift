// swift-tools-version: 6.0
// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import PackageDescription

/// Every module knows only the ones before it in this list.
let modules: [(name: String, dependencies: [Target.Dependency])] = [
  ("CryptoCore", ["CCrypto"]),
  ("WebAuthnCore", ["CryptoCore", "CCbor"]),
  ("CTAPWire", ["WebAuthnCore"]),
  ("SecurityKeys", ["CTAPWire", "WebAuthnCore", "CryptoCore", "CFido2", "CUdev", "CUnistring"]),
  ("VirtualAuthenticator", ["CTAPWire", "WebAuthnCore", "CryptoCore"]),
  ("SealFormats", ["WebAuthnCore", "CryptoCore"]),
  ("SealCeremonies", ["SealFormats", "WebAuthnCore", "CryptoCore"]),
  (
    "InteropMatrix",
    ["SealCeremonies", "SealFormats", "VirtualAuthenticator", "SecurityKeys", "CTAPWire", "WebAuthnCore", "CryptoCore"]
  ),
]

let package = Package(
  name: "sealkey",
  products: modules.map { .library(name: $0.name, targets: [$0.name]) }
    + [.executable(name: "sealkey", targets: ["sealkey"]), .library(name: "FuzzTargets", targets: ["FuzzTargets"])],
  targets: [
    .systemLibrary(name: "CFido2", pkgConfig: "libfido2", providers: [.apt(["libfido2-dev"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCbor", pkgConfig: "libcbor", providers: [.apt(["libcbor-dev"])]),
    .systemLibrary(name: "CGetopt"),
    .systemLibrary(name: "CProcess"),
    .systemLibrary(name: "CUnistring", providers: [.apt(["libunistring-dev"])]),
    .systemLibrary(name: "CUdev", pkgConfig: "libudev", providers: [.apt(["libudev-dev"])]),
  ]
    + modules.map { .target(name: $0.name, dependencies: $0.dependencies) }
    + modules.map {
      .testTarget(
        name: "\($0.name)Tests",
        dependencies: [.target(name: $0.name), "TestSupport"] + extraTestDependencies($0.name))
    }
    + [
      .target(name: "TestSupport", dependencies: ["CryptoCore"], path: "Tests/TestSupport"),
      .executableTarget(
        name: "FirstTenMinutes",
        dependencies: ["CryptoCore", "SealCeremonies", "SealFormats", "SecurityKeys", "VirtualAuthenticator"],
        path: "Examples/FirstTenMinutes"),
      // The parsers as a fuzzer sees them: the package in Fuzz/ drives them, the tests replay the seeds.
      .target(
        name: "FuzzTargets", dependencies: modules.map { .target(name: $0.name) } + ["CCbor"], path: "Fuzz/Targets"),
      .testTarget(name: "FuzzTargetsTests", dependencies: ["FuzzTargets", "TestSupport"]),
      .testTarget(
        name: "sealkeyTests",
        dependencies: ["sealkey", "FirstTenMinutes", "TestSupport"] + modules.map { .target(name: $0.name) }),
      .executableTarget(
        name: "sealkey",
        dependencies: modules.map { .target(name: $0.name) } + ["CGetopt", "CProcess"],
        // Every symbol is bound at the start: binding one late saves the vector registers on the stack, and with them
        // whatever a cipher has just left there.
        linkerSettings: [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"])]),
    ],
  swiftLanguageModes: [.v6]
)

/// A test may reach sideways where a module may not: keys are tried against the virtual key.
func extraTestDependencies(_ module: String) -> [Target.Dependency] {
  switch module {
  case "SecurityKeys": ["VirtualAuthenticator", "CTAPWire"]
  case "SealCeremonies": ["VirtualAuthenticator", "SecurityKeys"]
  case "VirtualAuthenticator": ["CryptoCore", "CTAPWire"]
  case "InteropMatrix":
    ["VirtualAuthenticator", "SecurityKeys", "CTAPWire", "SealFormats", "WebAuthnCore", "CryptoCore"]
  default: []
  }
}
