/// The peer in structured concurrency: plain child tasks of `withTaskGroup`.
enum TaskGroupPeer {
  /// Runs `count` child tasks with the same body and returns when all have ended.
  static func run(_ count: Int, body: @escaping @Sendable () async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<count { group.addTask(operation: body) }
      await group.waitForAll()
    }
  }
}
