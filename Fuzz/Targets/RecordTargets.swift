// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

import InteropMatrix
import WebAuthnCore

/// The interop matrix: run records, the sheet that they fill, the metadata that they are compared with.
extension FuzzTarget {
  static let recordTargets: [FuzzTarget] = [
    FuzzTarget(
      "run-record", ["InteropMatrix/Record/RunRecord+Reading.swift"], limit: 65536, seeds: { $0.records }
    ) { input in
      guard let record = attempt({ () throws(RunRecordError) in try RunRecord(parsing: input) }) else { return }
      must(record.encoded() == input, "a record has one form")
      _ = record.cells
      must(record.fileName.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != 0x2f }, "a file name is plain")
    },
    FuzzTarget("matrix-sheet", ["InteropMatrix/Sheet/"], limit: 8192, seeds: { $0.sheets }) { input in
      guard let sheet = attempt({ () throws(SheetError) in try MatrixSheet(input) }) else { return }
      must(
        attempt { () throws(SheetError) in try sheet.filled(with: []) } == input, "nothing to fill in changes nothing")
      guard let run = SeedStock.run, let filled = attempt({ () throws(SheetError) in try sheet.filled(with: [run]) })
      else { return }
      let second = again("sheet") { () throws(SheetError) in try MatrixSheet(filled) }
      must(
        again("sheet") { () throws(SheetError) in try second.filled(with: [run]) } == filled,
        "a sheet that is filled in stays as it is")
    },
    FuzzTarget(
      "metadata", ["InteropMatrix/Atlas/PublishedModel.swift", "InteropMatrix/Atlas/MakersWord.swift"], limit: 16384,
      seeds: { $0.metadata }
    ) {
      input in
      if let run = SeedStock.run {
        _ = attempt { () throws(AtlasError) in
          try MakersWord(of: run.record, payload: input, isSigned: false, at: nil)
        }
      }
      guard let read = attempt({ () throws(AtlasError) in try PublishedModel.all(payload: input) }) else { return }
      must(read.models.allSatisfy { $0.aaguid.count == 16 }, "a model has an AAGUID")
      for model in read.models { _ = model.info.encoded() }
    },
  ]
}
