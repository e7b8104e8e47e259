import Foundation

/// What the dispatch worker that calls this is named or classed after: its quality of service.
public func currentWorkerClass() -> String {
  #if canImport(Darwin)
  "\(qos_class_self().rawValue)"
  #else
  (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? "unknown"
  #endif
}
