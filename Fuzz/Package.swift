// swift-tools-version: 6.0
// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import PackageDescription

// A package of its own, for libFuzzer brings its own main:
//   swift build -c release --package-path Fuzz --scratch-path .build/fuzz --product Fuzzer -Xswiftc -sanitize=fuzzer
// The targets themselves are in Targets/ and belong to the main package, whose tests replay the seeds.
let package = Package(
  name: "sealkey-fuzz",
  dependencies: [.package(name: "sealkey", path: "..")],
  targets: [
    .target(name: "FuzzEntry", dependencies: [.product(name: "FuzzTargets", package: "sealkey")]),
    .executableTarget(name: "Fuzzer", dependencies: ["FuzzEntry"]),
    .executableTarget(name: "Replay", dependencies: [.product(name: "FuzzTargets", package: "sealkey")]),
  ],
  swiftLanguageModes: [.v6]
)
