// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import CryptoCore
import Glibc
import SealCeremonies
import SealFormats
import WebAuthnCore

// CapsuleBenchmark [COUNT]      makes a capsule of COUNT events (100000), verifies it in a process of its own, prints JSON
// CapsuleBenchmark verify FILE  that process

func now() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func processorTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Verifications a second of processor time by libcrypto alone, of messages as long as a digest.
func rawRate() throws -> Double {
  let key = try P256.Signing.PrivateKey()
  let message = Random.bytes(32)
  let signature = try key.signature(for: message)
  let start = processorTime()
  var done = 0
  while processorTime() - start < 2 {
    for _ in 0..<100 where key.publicKey.isValidSignature(signature, for: message) { done += 1 }
  }
  return Double(done) / (processorTime() - start)
}

func verify(_ path: String) async throws {
  let start = now()
  let capsule = try Capsule(parsing: try AtomicFile.read(path, limit: Capsule.maximumSize))
  let parsed = now()
  let verified = await CapsuleVerifier(CapsuleContext(now: 4_000_000_000)).verify(capsule)
  let taps = verified.admitted.filter { $0.kind == .custodyConfirmed || $0.kind == .authorization }.count
  guard verified.report.failures.isEmpty else {
    print(verified.report.failures.prefix(3))
    exit(1)
  }
  print(
    String(
      decoding: JSONWriter.write(
        .object([
          ("events", .int(capsule.entries.count)), ("verifications", .int(capsule.entries.count + taps + 3)),
          ("parseSeconds", JSONValue(.number("\(parsed - start)"))),
          ("totalSeconds", JSONValue(.number("\(now() - start)"))),
        ])), as: UTF8.self))
}

/// Runs this program again and returns what it printed, its processor time and its largest memory.
func measure(_ path: String) throws -> (out: String, seconds: Double, peak: Int) {
  var ends: [Int32] = [0, 0]
  guard pipe(&ends) == 0 else { throw FormatError.unknownFormat("pipe") }
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
  defer { posix_spawn_file_actions_destroy(&actions) }
  let words: [UnsafeMutablePointer<CChar>?] = [strdup("CapsuleBenchmark"), strdup("verify"), strdup(path), nil]
  defer { for word in words { free(word) } }
  var process = pid_t()
  var target = [CChar](repeating: 0, count: 4096)
  guard readlink("/proc/self/exe", &target, 4095) > 0,
    posix_spawn(&process, target, &actions, nil, words, environ) == 0
  else { throw FormatError.unknownFormat("posix_spawn") }
  close(ends[1])
  var out: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 4096)
  while case let count = read(ends[0], &buffer, buffer.count), count > 0 { out += buffer.prefix(count) }
  close(ends[0])
  var usage = rusage()
  var status: Int32 = 0
  wait4(process, &status, 0, &usage)
  let seconds =
    Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
    + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
  return (String(decoding: out, as: UTF8.self), seconds, usage.ru_maxrss * 1024)
}

let arguments = CommandLine.arguments
if arguments.count == 3, arguments[1] == "verify" {
  try await verify(arguments[2])
} else {
  let count = arguments.count > 1 ? Int(arguments[1]) ?? 100_000 : 100_000
  let path = "/tmp/sealkey-benchmark-\(getpid()).json"
  let text = try await LargeCapsule.make(count: count)
  try AtomicFile.write(text, to: path)
  defer { unlink(path) }
  let raw = try rawRate()
  let run = try measure(path)
  let inner = try JSONReader.parse(Array(run.out.utf8))
  let total = inner["totalSeconds"]?.double ?? 0
  let verifications = inner["verifications"]?.double ?? 0
  func number(_ value: Double) -> JSONValue { JSONValue(.number("\((value * 100).rounded() / 100)")) }
  let result = JSONValue.object([
    ("benchmark", .string("capsule")), ("events", inner["events"]), ("fileBytes", .int(text.count)),
    ("peakBytes", .int(run.peak)), ("peakPerFileByte", number(Double(run.peak) / Double(text.count))),
    ("seconds", number(total)), ("parseSeconds", number(inner["parseSeconds"]?.double ?? 0)),
    ("coresBusy", number(run.seconds / total)), ("cores", .int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))),
    ("verifications", .int(Int(verifications))), ("rawVerificationsPerSecondPerCore", number(raw)),
    // What raw libcrypto would need on one core, over the processor time that was used.
    ("rawShareOfProcessorTime", number(verifications / raw / run.seconds)),
  ])
  print(String(decoding: JSONWriter.write(result, .readable), as: UTF8.self))
  // The promise: a capsule never takes three times its size. Small ones are all program and no capsule.
  if count >= 10_000, run.peak >= 3 * text.count { exit(1) }
}
