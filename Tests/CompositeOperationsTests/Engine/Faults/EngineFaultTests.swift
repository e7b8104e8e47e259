#if os(macOS) || os(Linux)
#if DEBUG
import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Deliberately broken engines: for each rule of 3.4 one that breaks it, and a detector that notices.
///
/// Each detector runs twice, in a process of its own each time: it must find a healthy engine fine, and catch a broken
/// one.
@Suite("3.4 Broken engines", .hangLimit)
struct EngineFaultTests {
  @Test("A healthy engine is found fine", arguments: EngineFault.allCases)
  func detector_healthyEngine_isFine(_ fault: EngineFault) async {
    await #expect(processExitsWith: .success) { [number = fault.rawValue as Int] in
      await EngineFaultTests.exit(afterDetecting: number, isBroken: false)
    }
  }

  @Test("An engine that breaks the rule is caught", arguments: EngineFault.allCases)
  func detector_brokenEngine_catchesIt(_ fault: EngineFault) async {
    let crashes = FaultDetector(for: fault).effect == .crashes
    await #expect(processExitsWith: crashes ? .signal(SIGSEGV) : .success) { [number = fault.rawValue as Int] in
      await EngineFaultTests.exit(afterDetecting: number, isBroken: true)
    }
  }

  /// Runs the detector and ends the process: a success if it found what it should.
  ///
  /// From the detector's own thread, since a broken engine may keep all others busy.
  private static func exit(afterDetecting number: Int, isBroken: Bool) async {
    await onThread {
      guard let fault = EngineFault(rawValue: number) else { preconditionFailure("There is no fault \(number)") }
      if isBroken { fault.inject() }
      let detector = FaultDetector(for: fault)
      // A crash comes, however long the way to it takes.
      let finding = detector.run(isBroken && detector.effect == .isSeen ? .bounded : .unlimited)
      FileHandle.standardError.write(Data("\(fault): \(finding)\n".utf8))
      Foundation.exit((finding == .fine) == isBroken ? EXIT_FAILURE : EXIT_SUCCESS)
    }
  }
}
#endif
#endif
