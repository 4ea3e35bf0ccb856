// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import FuzzTargets
import Glibc

// Replay FOLDER   runs each target on every file of FOLDER/<target>, and of FOLDER/seeds/<target>: for coverage
// Replay list     prints a line for each target: name, longest input, the sources that it is for

/// The files of a folder, in no order.
func files(_ folder: String) -> [String] {
  guard let directory = opendir(folder) else { return [] }
  defer { closedir(directory) }
  var found: [String] = []
  while let entry = readdir(directory) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if entry.pointee.d_type == UInt8(DT_REG) { found.append("\(folder)/\(name)") }
  }
  return found
}

func contents(_ path: String) -> [UInt8] {
  guard let file = fopen(path, "re") else { return [] }
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: 1 << 17)
  return Array(bytes[..<fread(&bytes, 1, bytes.count, file)])
}

guard CommandLine.arguments.count == 2 else {
  print("usage: Replay FOLDER | list")
  exit(2)
}
let folder = CommandLine.arguments[1]
if folder == "list" {
  for target in FuzzTarget.all { print(target.name, target.limit, target.sources.joined(separator: " ")) }
  exit(0)
}
_ = try await SeedStock.made()
for target in FuzzTarget.all {
  let inputs = files("\(folder)/\(target.name)") + files("\(folder)/seeds/\(target.name)")
  for path in inputs {
    let bytes = contents(path)
    if bytes.count <= target.limit { target.run(bytes) }
  }
  print("\(target.name): \(inputs.count) inputs")
}
