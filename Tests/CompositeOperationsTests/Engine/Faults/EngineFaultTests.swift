#if DEBUG
import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Deliberately broken engines: for each rule of 3.4 one that breaks it, and a detector that notices.
///
/// Each detector runs twice, in a process of its own each time: a healthy engine it must find fine, a broken one it must
/// catch.
@Suite("3.4 Broken engines", .timeLimit(.minutes(3)))
struct EngineFaultTests {
  @Test("A healthy engine is found fine", arguments: EngineFault.allCases)
  func detector_healthyEngine_isFine(_ fault: EngineFault) async {
    await #expect(processExitsWith: .success) { [number = fault.rawValue as Int] in
      let finding = await EngineFaultTests.finding(of: number, patience: .unlimited)
      if finding != .fine { EngineFaultTests.fail("\(finding)") }
    }
  }

  @Test("An engine that breaks the rule is caught", arguments: EngineFault.allCases)
  func detector_brokenEngine_catchesIt(_ fault: EngineFault) async {
    let crashes = FaultDetector(for: fault).effect == .crashes
    await #expect(processExitsWith: crashes ? .signal(SIGSEGV) : .success) { [number = fault.rawValue as Int] in
      EngineFault(rawValue: number)?.inject()
      let finding = await EngineFaultTests.finding(of: number, patience: .bounded)
      if finding == .fine { EngineFaultTests.fail("the fault was not noticed") }
    }
  }

  private static func finding(of number: Int, patience: Patience) async -> Finding {
    guard let fault = EngineFault(rawValue: number) else { return .caught("there is no fault \(number)") }
    let detector = FaultDetector(for: fault)
    return await onThread { detector.run(patience) }
  }

  private static func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(EXIT_FAILURE)
  }
}
#endif
