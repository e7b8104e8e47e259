import Foundation

/// The quality of service of the calling dispatch worker, from its name or class.
public func currentWorkerClass() -> String {
  #if canImport(Darwin)
  "\(qos_class_self().rawValue)"
  #else
  (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? "unknown"
  #endif
}
