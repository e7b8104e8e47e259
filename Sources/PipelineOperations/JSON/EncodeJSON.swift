public import CompositeOperations
public import Foundation

/// A step that encodes what flows as JSON. It fails with the `EncodingError` of the encoder.
public struct EncodeJSON<Value: Encodable & Sendable>: PipelineStep {
  private let configure: @Sendable (JSONEncoder) -> Void

  /// Makes the step.
  ///
  /// - Parameters:
  ///   - type: what to encode.
  ///   - configure: sets the encoder up, for sorted keys for example. Called for each run, with a new one, as part of the
  ///     work.
  public init(
    _ type: Value.Type = Value.self, configure: @escaping @Sendable (_ encoder: JSONEncoder) -> Void = { _ in }
  ) {
    self.configure = configure
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for value: Value) -> SimpleOperation<Data> {
    SimpleOperation { operation in
      let encoder = JSONEncoder()
      configure(encoder)
      do {
        operation.finish(with: try encoder.encode(value))
      } catch {
        operation.reject(with: error)
      }
    }
  }
}
