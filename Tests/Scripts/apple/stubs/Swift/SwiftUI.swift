// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, OmitExplicitReturns

// What the sample in Examples/SwiftUI uses of Apple's SwiftUI, with the isolation that it has
// there.
@_exported import Foundation
@_exported import Observation

@MainActor @preconcurrency
public protocol View {
  associatedtype Body: View
  @ViewBuilder var body: Body { get }
}

extension Never: View {
  public var body: Never { return fatalError() }
}

@resultBuilder
public enum ViewBuilder {
  public static func buildBlock<each Content: View>(
    _ content: repeat each Content
  ) -> TupleView<(repeat each Content)> {
    TupleView()
  }
  public static func buildOptional<Content: View>(_ content: Content?) -> TupleView<Content?> { TupleView() }
  public static func buildEither<First: View, Second: View>(
    first: First
  ) -> EitherView<First, Second> { EitherView() }
  public static func buildEither<First: View, Second: View>(
    second: Second
  ) -> EitherView<First, Second> { EitherView() }
}

public struct TupleView<Content>: View {
  nonisolated init() {}
  public var body: Never { return fatalError() }
}

public struct EitherView<First, Second>: View {
  nonisolated init() {}
  public var body: Never { return fatalError() }
}

@propertyWrapper
public struct State<Value> {
  public init(wrappedValue: Value) { value = wrappedValue }
  private let value: Value
  public var wrappedValue: Value {
    get { value }
    nonmutating set {}
  }
}

public struct Text: View {
  public init(_ content: some StringProtocol) {}
  public var body: Never { return fatalError() }
}

public struct Spacer: View {
  public init() {}
  public var body: Never { return fatalError() }
}

public struct ProgressView: View {
  public init(value: (some BinaryFloatingPoint)?, total: Double = 1) {}
  public var body: Never { return fatalError() }
}

public struct Button: View {
  public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) {}
  public var body: Never { return fatalError() }
}

public struct VStack<Content: View>: View {
  public init(@ViewBuilder content: () -> Content) {}
  public var body: Never { return fatalError() }
}

public struct HStack<Content: View>: View {
  public init(@ViewBuilder content: () -> Content) {}
  public var body: Never { return fatalError() }
}

public struct List<Content: View>: View {
  public init<Data: RandomAccessCollection>(
    _ data: Data, @ViewBuilder rowContent: @escaping (Data.Element) -> Content
  ) where Data.Element: Identifiable {}
  public var body: Never { return fatalError() }
}

extension View {
  public nonisolated func task<ID: Equatable>(
    id: ID, @_inheritActorContext _ action: sending @escaping @isolated(any) () async -> Void
  ) -> some View {
    TupleView<Self>()
  }
}
