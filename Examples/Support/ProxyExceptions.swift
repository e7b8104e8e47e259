import Foundation

/// The hosts that are asked without a proxy: `no_proxy` of the environment.
package enum ProxyExceptions {
  /// Has requests to this machine use no proxy, whatever the environment says. What it says about
  /// other hosts stays.
  package static func addThisMachine() {
    let environment = ProcessInfo.processInfo.environment
    // The order of libcurl, for which an empty variable is none.
    let own = ["no_proxy", "NO_PROXY"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    setenv("no_proxy", withThisMachine(own ?? ""), 1)
  }

  /// A list of exceptions, with this machine in it.
  package static func withThisMachine(_ own: String) -> String {
    switch own {
    case "": "127.0.0.1,localhost"
    case "*": "*"  // a list with more than the star would not mean all hosts any longer
    default: own + ",127.0.0.1,localhost"
    }
  }
}
