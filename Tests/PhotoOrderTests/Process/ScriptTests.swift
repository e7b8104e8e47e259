#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import PhotoOrder

/// Orders that a script drives.
@Suite(.timeLimit(.minutes(30))) struct ScriptTests {
  @Test func conditions_fulfilledBeforeAndAfterTheStart_bothCount() async throws {
    let result = try await Program.run(
      script: """
        fulfill Photo 1 Available
        fulfill Photo 1 Available
        start all
        wait Upload Photo 1 finished
        wait Photo 2 Available waiting
        fulfill Photo 2 Available
        wait Upload Photo 2 finished
        fulfill 6
        wait
        """, in: try TemporaryFolder())
    #expect(result.status == 0)
    #expect(
      result.has(
        "> fulfill Photo 1 Available", "  Photo 1 Available will have its value when it runs",
        "> fulfill Photo 1 Available", "  nothing to fulfill: Photo 1 Available is ready", "> start all",
        "Photo Order: started", "Photo 1 Available: finished", "Upload Photo 1: finished",
        "> fulfill Photo 2 Available", "Photo 2 Available: finished", "Upload Photo 2: finished", "> fulfill 6",
        "Metadata Available: finished", "Submit Order: finished", "Photo Order: every task has finished"))
  }

  @Test func condition_thatIsRejected_fails_andIsRetried() async throws {
    let result = try await Program.run(
      script: """
        start all
        fulfill Photo 1 Available
        fulfill Photo 2 Available
        reject Metadata Available
        wait
        retry Metadata Available
        wait Metadata Available waiting
        fulfill Metadata Available
        wait
        """, in: try TemporaryFolder())
    #expect(result.status == 0)
    #expect(
      result.has(
        "> reject Metadata Available", "Metadata Available: failed: it was refused; retry it to wait again",
        "Photo Order: failed: Metadata Available; blocked by that: Submit Order", "> retry Metadata Available",
        "Metadata Available: will run again", "Metadata Available: waits", "Metadata Available: finished",
        "Submit Order: finished"))
    #expect(result.lines.contains("Run 1 failed: 6 attempts, 5 finished, 1 failed, 0 cancelled"))
    #expect(result.lines.contains("Run 2 finished: 2 attempts, 2 finished, 0 failed, 0 cancelled"))
  }

  @Test func cancel_ofAnUploadUnderWay_leavesNoPart_andRetryCompletesTheOrder() async throws {
    let folder = try TestPhoto.folder()
    let result = try await Program.run(
      script: """
        hold Upload Photo 1 25%
        start all
        fulfill all
        wait Upload Photo 1 held
        wait Upload Photo 2 finished
        show
        cancel Upload Photo 1
        wait
        show
        release Upload Photo 1
        retry all
        wait
        """, "a.jpg", "in/b.jpg", in: folder)
    #expect(result.status == 0)
    #expect(result.output.contains("3 ‖ Upload Photo 1      held       "))
    #expect(result.output.contains("3 ⊘ Upload Photo 1      cancelled  "))
    #expect(
      result.has(
        "  Upload Photo 1 will stop at 25 %", "> cancel Upload Photo 1", "Upload Photo 1: cancelled",
        "Submit Order: cancelled", "Upload Photo 1: attempt 1 has ended, and does not count", "Photo Order: cancelled",
        "> retry all", "Upload Photo 1: will run again", "Submit Order: will run again",
        "Upload Photo 1: started (attempt 2)", "Upload Photo 1: finished", "Submit Order: finished"))
    #expect(try folder.list("order/photos") == ["1-a.jpg", "2-b.jpg"])
    #expect(try folder.read("order/photos/1-a.jpg") == TestPhoto.first)
  }

  @Test func cancel_ofAWaitingCondition_cancelsWhatDependsOnIt() async throws {
    let folder = try TemporaryFolder()
    let result = try await Program.run(
      script: """
        start all
        wait Photo 1 Available waiting
        fulfill Photo 2 Available
        fulfill Metadata Available
        cancel Photo 1 Available
        wait
        """, in: folder)
    #expect(result.status == 1)
    #expect(
      result.has(
        "> cancel Photo 1 Available", "Photo 1 Available: cancelled", "Upload Photo 1: cancelled",
        "Submit Order: cancelled", "Photo Order: cancelled"))
    #expect(result.errors.contains("PhotoOrder: The order is not complete: 4 of 7 tasks have finished.\n"))
    #expect(result.errors.contains("Missing: Photo 1 Available, Upload Photo 1, Submit Order\n"))
    let graph = try folder.text("order/order.mmd")
    #expect(graph.contains("t2{{\"Photo 1 Available\"}}:::cancelled"))
    #expect(graph.contains("t5[\"Upload Photo 2\"]:::finished"))
  }

  @Test func reset_ofAFinishedOrder_startsNothing_andItRunsAgain() async throws {
    let folder = try TemporaryFolder()
    let result = try await Program.run(
      script: """
        start all
        fulfill all
        wait
        reset Upload Photo 2
        wait Upload Photo 2 ready
        wait
        show
        start Upload Photo 2
        wait
        """, in: folder)
    #expect(result.status == 0)
    #expect(
      result.has(
        "Photo Order: every task has finished", "> reset Upload Photo 2", "Upload Photo 2: reset",
        "Submit Order: reset",
        "> start Upload Photo 2", "Photo Order: started", "Upload Photo 2: started (attempt 2)",
        "Upload Photo 2: finished", "Submit Order: started (attempt 2)", "Submit Order: finished"))
    #expect(result.output.contains("5 ○ Upload Photo 2      ready      "))
    #expect(result.output.contains("7 · Submit Order        pending    ░░░░░░░░░░   0 %         after 5"))
    #expect(result.lines.contains("Run 2 finished: 2 attempts, 2 finished, 0 failed, 0 cancelled"))
  }

  @Test func reset_ofEverything_dropsTheValuesOfConditions() async throws {
    let result = try await Program.run(
      script: """
        start all
        fulfill all
        wait
        reset all
        start all
        wait Photo 1 Available waiting
        fulfill all
        wait
        """, in: try TemporaryFolder())
    #expect(result.status == 0)
    #expect(result.lines.contains("Run 2 finished: 7 attempts, 7 finished, 0 failed, 0 cancelled"))
  }

  @Test func reset_ofAHeldUpload_discardsItsAttempt() async throws {
    let result = try await Program.run(
      script: """
        hold 3 0%
        start all
        fulfill all
        wait 3 held
        reset 3
        wait 3 ready
        release 3
        start 3
        wait
        """, in: try TemporaryFolder())
    #expect(result.status == 0)
    #expect(
      result.has(
        "Upload Photo 1: started", "> reset 3", "Upload Photo 1: reset",
        "Upload Photo 1: attempt 1 has ended, and does not count"))
    #expect(result.has("> start 3", "Upload Photo 1: started (attempt 2)", "Upload Photo 1: finished"))
  }

  @Test func oneTask_thatIsStarted_runsAlone_andWhatFollowsFromIt() async throws {
    let result = try await Program.run(
      script: "start Create Project\nwait\nstart Create Project\nretry 1\nquit", in: try TemporaryFolder())
    #expect(result.status == 1)
    #expect(
      result.has(
        "Create Project: finished", "Photo Order: pauses; there are tasks to start", "> start Create Project",
        "  nothing to start: Create Project is finished", "> retry 1", "  nothing to retry: Create Project is finished")
    )
    #expect(!result.output.contains("Photo 1 Available: waits"))
  }

  @Test func photo_thatGoes_failsItsCondition() async throws {
    let folder = try TestPhoto.folder()
    // The pipe tells when the program has looked at the photos: it reads its script after that.
    let script = folder.path + "/pipe"
    #expect(mkfifo(script, 0o600) == 0)
    let program = try Program(["--script", "pipe", "a.jpg", "in/b.jpg"], in: folder)
    let reader = Locked<FileHandle?>(nil)
    await withTaskCancellationHandler {
      await onWorker {
        let pipe = FileHandle(forWritingAtPath: script)
        try? FileManager.default.removeItem(atPath: folder.path + "/a.jpg")
        try? pipe?.write(contentsOf: Data("start all\nfulfill all\nwait".utf8))
        try? pipe?.close()
      }
    } onCancel: {
      // The worker waits until the pipe has a reader, which the program may never be. This is one,
      // and waits for no writer itself.
      reader.withLock { $0 = FileHandle(forUpdatingAtPath: script) }
    }
    let result = try await program.result()
    #expect(result.status == 1)
    #expect(
      result.lines.contains("Photo 1 Available: failed: a.jpg does not exist. Bring it back, then retry the task."))
    #expect(result.lines.contains("Upload Photo 2: finished"))
  }

  @Test func script_fromTheStandardInput() async throws {
    let folder = try TemporaryFolder()
    let result = try await Program(["--script", "-"], in: folder, input: "start all\nfulfill all\nwait").result()
    #expect(result.status == 0)
  }

  @Test func end_withoutWait_letsWhatRunsFinish() async throws {
    let result = try await Program.run(script: "start all\nfulfill all", in: try TemporaryFolder())
    #expect(result.status == 0)
  }

  @Test func quit_cancelsWhatRuns_andDrawsItAsItWas() async throws {
    let folder = try TestPhoto.folder()
    let result = try await Program.run(
      script: "hold 3 50%\nstart all\nfulfill 2\nwait 3 held\nquit\nshow", "a.jpg", in: folder)
    #expect(result.status == 1)
    #expect(result.lines.contains("What still runs is cancelled."))
    #expect(try folder.list("order/photos").isEmpty)
    #expect(try folder.text("order/order.mmd").contains("t3[\"Upload Photo 1\"]:::executing"))
    #expect(!result.output.contains("task  "))
  }

  @Test func emptyScript_runsNothing() async throws {
    let folder = try TemporaryFolder()
    let result = try await Program.run(script: "# nothing\n", in: folder)
    #expect(result.status == 1)
    #expect(result.errors.contains("0 of 7 tasks have finished"))
    #expect(try folder.text("order/order.mmd").contains("t1[\"Create Project\"]:::ready"))
  }

  @Test(arguments: [
    ("start all\nwait", 2, "Photo 1 Available is waiting", "fulfill Photo 1 Available"),
    ("hold 1 0\nstart all\nwait 1 finished", 3, "Create Project is held", "release Create Project"),
    ("start all\nwait 3 finished", 2, "Upload Photo 1 is pending", "fulfill Photo 1 Available"),
    ("wait 1 finished", 1, "Create Project is ready, and nothing runs.", "Write start all before that line."),
    (
      "start all\nfulfill all\nwait\nwait 1 executing", 4, "Create Project is finished, and nothing runs.",
      "A state that passes by itself can be missed"
    ),
    ("cancel all\nwait 1 finished", 2, "Create Project is cancelled, and nothing runs.", "Write retry"),
    ("start all\nwait 1 finished\nreset 1\nwait 1 finished", 4, "Create Project is ready", "fulfill"),
  ])
  func wait_inVain_isToldWithItsLineAndRemedy(
    _ script: String, _ line: Int, _ problem: String, _ remedy: String
  ) async throws {
    let folder = try TemporaryFolder()
    let result = try await Program.run(script: script, in: folder)
    #expect(result.status == 1)
    #expect(result.errors.hasPrefix("PhotoOrder: order.script, line \(line), \""), "\(result.errors)")
    #expect(result.errors.contains(problem), "\(result.errors)")
    #expect(result.errors.contains(remedy), "\(result.errors)")
    #expect(folder.exists("order/order.mmd"))
  }
}
#endif
