#if os(macOS) || os(Linux)
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// DUR-5: the file whose room is given back on a full disk.
@Suite(.timeLimit(.minutes(30))) struct ReserveTests {
  private func attributes(_ file: URL) -> (size: Int, mode: Int)? {
    guard let values = try? FileManager.default.attributesOfItem(atPath: file.path + "-reserve") else { return nil }
    return (values[.size] as? Int ?? 0, values[.posixPermissions] as? Int ?? 0)
  }

  private func cutOff(_ file: URL) { #expect(truncate(file.path + "-reserve", 100) == 0) }

  @Test(arguments: [true, false]) func reserve_thatIsGone_orCutOff_isMadeAgain_whileTheQueueRuns(isGone: Bool)
    async throws
  {
    try await withDatabaseFile { file in
      let harness = try Harness(.file(file)) { $0.diskReserve = 5000 }
      harness.queue.start()
      await harness.queue.hasLookedAround()
      #expect(attributes(file)?.size == 5000)
      if isGone { try FileManager.default.removeItem(atPath: file.path + "-reserve") } else { cutOff(file) }
      for _ in 0..<59 {
        harness.clock.advance(by: .seconds(1))
        await harness.queue.hasLookedAround()
      }
      #expect(attributes(file)?.size != 5000, "it is looked at once a minute")
      while attributes(file)?.size != 5000 {
        harness.clock.advance(by: .seconds(1))
        await harness.queue.hasLookedAround()
      }
      await harness.queue.stop()
    }
  }

  @Test func reserve_thatIsCutOff_isMadeAgain_whenTheQueueIsManaged_orOpened() async throws {
    try await withDatabaseFile { file in
      let harness = try Harness(.file(file)) { $0.diskReserve = 5000 }
      let id = try await harness.queue.enqueue(Count(number: 1))
      cutOff(file)
      try await harness.queue.hold(id)
      #expect(attributes(file)?.size == 5000)
      cutOff(file)
      _ = try Harness(.file(file)) { $0.diskReserve = 5000 }
      #expect(attributes(file)?.size == 5000)
      // One that is larger is another process's.
      _ = try Harness(.file(file)) { $0.diskReserve = 4000 }
      #expect(attributes(file)?.size == 5000)
    }
  }

  @Test(arguments: [DurableQueue.FileAccess.owner, .group])
  func reserve_isForThoseWhoMayWriteTheDatabase(_ access: DurableQueue.FileAccess) async throws {
    try await withDatabaseFile { file in
      do {
        _ = try Harness(.file(file)) { $0.fileAccess = access }
        #expect(attributes(file)?.mode == (access == .group ? 0o660 : 0o600))
      }
      try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file.path)
      try FileManager.default.removeItem(atPath: file.path + "-reserve")
      _ = try Harness(.file(file))
      #expect(attributes(file)?.mode == 0o640)
    }
  }

  @Test func fileBehindASymbolicLink_hasItsReserveBesideIt() async throws {
    try await withDatabaseFile { file in
      try await withDatabaseFile { link in
        // Also while the file is yet to be made.
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        for _ in 0..<2 {
          let queue = try DurableQueue.patient(link)
          #expect(attributes(file)?.size == 1 << 20)
          #expect(attributes(link) == nil)
          try await queue.enqueue(Count(number: 1))
        }
      }
    }
  }

  @Test func toolsMakeNone() async throws {
    try await withDatabaseFile { file in
      let id: JobID
      do { id = try await Harness(.file(file)) { $0.diskReserve = 0 }.queue.enqueue(Count(number: 1)) }
      try await Harness(.existingFile(file)).queue.hold(id)
      #expect(attributes(file) == nil)
    }
  }

  @Test func reserve_ofADatabaseThatWasDeleted_goesWithTheQueue() async throws {
    try await withDatabaseFile { file in
      do {
        let queue = try DurableQueue.patient(file)
        queue.start()
        for end in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: file.path + end) }
        await queue.stop()
      }
      await until(attributes(file) == nil)
    }
  }
}
#endif
