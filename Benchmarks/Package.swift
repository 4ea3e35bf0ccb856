// swift-tools-version: 6.0
// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import PackageDescription

// A package of its own, so that nobody who only wants the program builds it:
//   swift run -c release --package-path Benchmarks CapsuleBenchmark
let package = Package(
  name: "sealkey-benchmarks",
  dependencies: [.package(name: "sealkey", path: "..")],
  targets: [
    .executableTarget(
      name: "CapsuleBenchmark",
      dependencies: [
        .product(name: "SealFormats", package: "sealkey"), .product(name: "SealCeremonies", package: "sealkey"),
        .product(name: "WebAuthnCore", package: "sealkey"), .product(name: "CryptoCore", package: "sealkey"),
      ]),
    .executableTarget(
      name: "CoreBenchmark",
      dependencies: [
        .product(name: "SecurityKeys", package: "sealkey"), .product(name: "VirtualAuthenticator", package: "sealkey"),
        .product(name: "WebAuthnCore", package: "sealkey"), .product(name: "CryptoCore", package: "sealkey"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
