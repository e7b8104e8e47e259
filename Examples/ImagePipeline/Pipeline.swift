import CompositeOperations
import ExampleSupport
import Foundation

/// The pipeline as operations.
struct Pipeline {
  let names: [String]
  let store: Store
  private let fileNumber = Shared(0)

  init(names: [String], store: Store) {
    self.names = names
    self.store = store
  }

  /// All images, a few at a time, then a list of them.
  func operation() -> CompositeOperation {
    let images = CompositeOperation(operations: names.enumerated().map { process($1, number: $0) })
    images.name = "images"
    images.failurePolicy = .waitForAll
    images.maxConcurrentOperationCount = 4
    let count = names.count
    let pipeline = CompositeOperation(
      sequence: LinearSequence(
        { _ in named("look for images", SimpleOperation { $0.finish(with: count) }) },
        { _ in images },
        { _ in named("write the list", SimpleOperation { $0.finish(with: "list of \(count) images") }) }))
    pipeline.name = "image pipeline"
    return pipeline
  }

  /// One image: read, then fingerprint and sizes at once. A damaged one is replaced by a blank.
  private func process(_ name: String, number: Int) -> Operation {
    let read = named(
      "read",
      SimpleOperation<Image> { operation in
        if name.hasPrefix("damaged") {
          operation.reject(with: Store.Problem.damaged(name: name))
        } else {
          operation.finish(with: Image(width: 240, height: 160, seed: UInt64(number + 1) &* 0x9E37_79B9))
        }
      })
    let readable = named(
      "read or replace",
      read.recover { _ in named("blank", SimpleOperation { $0.finish(with: Image(width: 240, height: 160, seed: 0)) }) }
    )
    let whole = readable.then { image in
      let parts = zip(
        named("fingerprint", SimpleOperation { $0.finish(with: image.fingerprint) }),
        named("sizes", forEach([2, 4, 8], maxConcurrent: 2) { factor in size(of: image, factor, name) }))
      return named("fingerprint and sizes", parts)
    }
    return named(name, whole)
  }

  /// One size: scaled, compressed, and stored, with up to four attempts.
  private func size(of image: Image, _ factor: Int, _ name: String) -> SimpleOperation<[UInt8]> {
    let scaled = named("scale", SimpleOperation { $0.finish(with: image.scaledDown(by: factor)) })
    let compressed = named("compress", scaled.map { $0.compressed() })
    let stored = compressed.then { bytes in
      let number = fileNumber.withLock { number in
        number += 1
        return number
      }
      let attempts = CompositeOperation(
        sequence: RetrySequence(maxAttempts: 4) { attempt in
          AsyncOperation(name: "write") {
            try await store.write(bytes, as: name, number: number, attempt: attempt)
          }
        })
      return named("store", attempts).map { _ in bytes }
    }
    return named("1/\(factor) size", stored)
  }
}

/// The operation with a name.
private func named<O: Operation>(_ name: String, _ operation: O) -> O {
  operation.name = name
  return operation
}
