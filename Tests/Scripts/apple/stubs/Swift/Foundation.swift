// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What Apple's Swift overlay of Foundation declares beyond the Objective-C classes: bridging, and
// the small API around them. Bodies do nothing: this is compiled, and never run.
@_exported import Darwin
@_exported import Dispatch
@_exported import Foundation
@_exported import FoundationEssentials
@_exported import FoundationInternationalization
@_exported import ObjectiveC

public typealias TimeInterval = Double

// MARK: - Bridging

extension String: @retroactive _ObjectiveCBridgeable {
  public typealias _ObjectiveCType = NSString
  public func _bridgeToObjectiveC() -> NSString { fatalError() }
  public static func _forceBridgeFromObjectiveC(_ source: NSString, result: inout String?) {}
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSString, result: inout String?) -> Bool { false }
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSString?) -> String { "" }
}
extension Array: @retroactive _ObjectiveCBridgeable {
  public typealias _ObjectiveCType = NSArray
  public func _bridgeToObjectiveC() -> NSArray { fatalError() }
  public static func _forceBridgeFromObjectiveC(_ source: NSArray, result: inout Array?) {}
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSArray, result: inout Array?) -> Bool { false }
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSArray?) -> Array { [] }
}
extension Set: @retroactive _ObjectiveCBridgeable {
  public typealias _ObjectiveCType = NSSet
  public func _bridgeToObjectiveC() -> NSSet { fatalError() }
  public static func _forceBridgeFromObjectiveC(_ source: NSSet, result: inout Set?) {}
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSSet, result: inout Set?) -> Bool { false }
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSSet?) -> Set { [] }
}
extension Dictionary: @retroactive _ObjectiveCBridgeable {
  public typealias _ObjectiveCType = NSDictionary
  public func _bridgeToObjectiveC() -> NSDictionary { fatalError() }
  public static func _forceBridgeFromObjectiveC(_ source: NSDictionary, result: inout Dictionary?) {}
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSDictionary, result: inout Dictionary?) -> Bool {
    false
  }
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSDictionary?) -> Dictionary { [:] }
}
extension Data: @retroactive _ObjectiveCBridgeable {
  public typealias _ObjectiveCType = NSData
  public func _bridgeToObjectiveC() -> NSData { fatalError() }
  public static func _forceBridgeFromObjectiveC(_ source: NSData, result: inout Data?) {}
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSData, result: inout Data?) -> Bool { false }
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSData?) -> Data { Data() }
}
extension Date: @retroactive _ObjectiveCBridgeable {
  public typealias _ObjectiveCType = NSDate
  public func _bridgeToObjectiveC() -> NSDate { fatalError() }
  public static func _forceBridgeFromObjectiveC(_ source: NSDate, result: inout Date?) {}
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSDate, result: inout Date?) -> Bool { false }
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSDate?) -> Date { Date() }
}
extension URL: @retroactive _ObjectiveCBridgeable {
  public typealias _ObjectiveCType = NSURL
  public func _bridgeToObjectiveC() -> NSURL { fatalError() }
  public static func _forceBridgeFromObjectiveC(_ source: NSURL, result: inout URL?) {}
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSURL, result: inout URL?) -> Bool { false }
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSURL?) -> URL { fatalError() }
}
extension NSNumber {
  public convenience init(value: Int) { fatalError() }
  public convenience init(value: Int64) { fatalError() }
  public convenience init(value: Bool) { fatalError() }
  public convenience init(value: Double) { fatalError() }
}

extension NSError: Error {}
// The compiler calls these where an NSError of Objective-C meets an Error.
public func _convertErrorToNSError(_ error: any Error) -> NSError { fatalError() }
public func _convertNSErrorToError(_ error: NSError?) -> any Error { fatalError() }
extension Error { public var localizedDescription: String { "" } }

public protocol CustomNSError: Error {
  static var errorDomain: String { get }
  var errorCode: Int { get }
  var errorUserInfo: [String: Any] { get }
}
extension CustomNSError {
  public static var errorDomain: String { "" }
  public var errorCode: Int { 0 }
  public var errorUserInfo: [String: Any] { [:] }
}

public let NSURLErrorKey = "NSURL"
public let NSFilePathErrorKey = "NSFilePath"
public let NSUnderlyingErrorKey = "NSUnderlyingError"
public let NSLocalizedDescriptionKey = "NSLocalizedDescription"
public let NSLocalizedFailureReasonErrorKey = "NSLocalizedFailureReason"
public let NSURLErrorFailingURLErrorKey = "NSErrorFailingURLKey"
public let NSPOSIXErrorDomain = "NSPOSIXErrorDomain"
public let NSCocoaErrorDomain = "NSCocoaErrorDomain"
public let NSURLErrorDomain = "NSURLErrorDomain"

// MARK: - Key-value observing

public class NSKeyValueObservation: NSObject {
  public func invalidate() {}
}
public struct NSKeyValueObservedChange<Value> {
  public let newValue: Value?
  public let oldValue: Value?
  public let isPrior: Bool
}
public protocol _KeyValueCodingAndObserving {}
extension NSObject: _KeyValueCodingAndObserving {}
extension _KeyValueCodingAndObserving {
  public func observe<Value>(
    _ path: KeyPath<Self, Value>, options: NSKeyValueObservingOptions = [],
    changeHandler: @escaping @Sendable (Self, NSKeyValueObservedChange<Value>) -> Void
  ) -> NSKeyValueObservation { fatalError() }
  public func willChangeValue<Value>(for path: KeyPath<Self, Value>) {}
  public func didChangeValue<Value>(for path: KeyPath<Self, Value>) {}
}

// MARK: - Operations and threads

extension OperationQueue {
  public class var defaultMaxConcurrentOperationCount: Int { -1 }
  public var underlyingQueue: DispatchQueue? {
    get { nil }
    set {}
  }
  public struct SchedulerTimeType: Sendable {}
}
extension DispatchQoS.QoSClass {
  public init?(rawValue: qos_class_t) { nil }
  public var rawValue: qos_class_t { QOS_CLASS_DEFAULT }
}
extension NSLocking {
  public func withLock<Result>(_ body: () throws -> Result) rethrows -> Result { try body() }
}

// MARK: - Text

extension StringProtocol {
  public func replacingOccurrences(of target: some StringProtocol, with replacement: some StringProtocol) -> String {
    ""
  }
  public func trimmingCharacters(in set: CharacterSet) -> String { "" }
  public func addingPercentEncoding(withAllowedCharacters allowed: CharacterSet) -> String? { nil }
  public func components(separatedBy set: CharacterSet) -> [String] { [] }
  public func padding(toLength length: Int, withPad pad: some StringProtocol, startingAt index: Int) -> String { "" }
}
extension String {
  public init(format: String, _ arguments: any CVarArg...) { self = "" }
  public init(format: String, arguments: [any CVarArg]) { self = "" }
  public init(format: String, locale: Locale?, _ arguments: any CVarArg...) { self = "" }
}
public struct CharacterSet: Sendable, Hashable {
  public init() {}
  public init(charactersIn text: String) {}
  public init(charactersIn range: ClosedRange<Unicode.Scalar>) {}
  public static var whitespaces: CharacterSet { CharacterSet() }
  public static var newlines: CharacterSet { CharacterSet() }
  public static var whitespacesAndNewlines: CharacterSet { CharacterSet() }
  public static var alphanumerics: CharacterSet { CharacterSet() }
  public static var decimalDigits: CharacterSet { CharacterSet() }
  public static var controlCharacters: CharacterSet { CharacterSet() }
  public static var urlPathAllowed: CharacterSet { CharacterSet() }
  public static var urlQueryAllowed: CharacterSet { CharacterSet() }
  public static var urlHostAllowed: CharacterSet { CharacterSet() }
  public var inverted: CharacterSet { self }
  public func contains(_ scalar: Unicode.Scalar) -> Bool { false }
  public func union(_ other: CharacterSet) -> CharacterSet { self }
  public func subtracting(_ other: CharacterSet) -> CharacterSet { self }
}
open class JSONSerialization: NSObject {
  public struct ReadingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let mutableContainers = ReadingOptions(rawValue: 1)
    public static let fragmentsAllowed = ReadingOptions(rawValue: 4)
    public static let json5Allowed = ReadingOptions(rawValue: 8)
  }
  public struct WritingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let prettyPrinted = WritingOptions(rawValue: 1)
    public static let sortedKeys = WritingOptions(rawValue: 2)
    public static let fragmentsAllowed = WritingOptions(rawValue: 4)
    public static let withoutEscapingSlashes = WritingOptions(rawValue: 8)
  }
  open class func isValidJSONObject(_ object: Any) -> Bool { true }
  open class func jsonObject(with data: Data, options: ReadingOptions = []) throws -> Any { data }
  open class func data(withJSONObject object: Any, options: WritingOptions = []) throws -> Data { Data() }
}

// MARK: - Files

extension FileHandle {
  public convenience init(forReadingFrom url: URL) throws { fatalError() }
  public convenience init(forWritingTo url: URL) throws { fatalError() }
  public convenience init(forUpdating url: URL) throws { fatalError() }
  public func readToEnd() throws -> Data? { nil }
  public func read(upToCount count: Int) throws -> Data? { nil }
  public func write(contentsOf data: some DataProtocol) throws {}
  public func offset() throws -> UInt64 { 0 }
  @discardableResult public func seekToEnd() throws -> UInt64 { 0 }
  public func seek(toOffset offset: UInt64) throws {}
  public func truncate(atOffset offset: UInt64) throws {}
}
extension FileManager {
  public func fileExists(atPath path: String, isDirectory: UnsafeMutablePointer<ObjCBool>?) -> Bool { false }
  public func containerURL(forSecurityApplicationGroupIdentifier identifier: String) -> URL? { nil }
}
public struct FileProtectionType: Hashable, Sendable, RawRepresentable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let none = FileProtectionType(rawValue: "NSFileProtectionNone")
  public static let complete = FileProtectionType(rawValue: "NSFileProtectionComplete")
  public static let completeUnlessOpen = FileProtectionType(rawValue: "NSFileProtectionCompleteUnlessOpen")
  public static let completeUntilFirstUserAuthentication = FileProtectionType(rawValue: "NSFileProtectionComplete…")
}
public struct URLResourceKey: Hashable, Sendable, RawRepresentable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let isRegularFileKey = URLResourceKey(rawValue: "NSURLIsRegularFileKey")
  public static let isDirectoryKey = URLResourceKey(rawValue: "NSURLIsDirectoryKey")
  public static let isSymbolicLinkKey = URLResourceKey(rawValue: "NSURLIsSymbolicLinkKey")
  public static let fileResourceTypeKey = URLResourceKey(rawValue: "NSURLFileResourceTypeKey")
  public static let fileSizeKey = URLResourceKey(rawValue: "NSURLFileSizeKey")
  public static let isWritableKey = URLResourceKey(rawValue: "NSURLIsWritableKey")
  public static let contentModificationDateKey = URLResourceKey(rawValue: "NSURLContentModificationDateKey")
  public static let isExcludedFromBackupKey = URLResourceKey(rawValue: "NSURLIsExcludedFromBackupKey")
  public static let fileProtectionKey = URLResourceKey(rawValue: "NSURLFileProtectionKey")
  public static let volumeIsLocalKey = URLResourceKey(rawValue: "NSURLVolumeIsLocalKey")
}
public struct URLFileResourceType: Hashable, Sendable, RawRepresentable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let regular = URLFileResourceType(rawValue: "NSURLFileResourceTypeRegular")
  public static let directory = URLFileResourceType(rawValue: "NSURLFileResourceTypeDirectory")
  public static let symbolicLink = URLFileResourceType(rawValue: "NSURLFileResourceTypeSymbolicLink")
  public static let namedPipe = URLFileResourceType(rawValue: "NSURLFileResourceTypeNamedPipe")
  public static let characterSpecial = URLFileResourceType(rawValue: "NSURLFileResourceTypeCharacterSpecial")
  public static let unknown = URLFileResourceType(rawValue: "NSURLFileResourceTypeUnknown")
}
public struct URLResourceValues {
  public init() {}
  public var isRegularFile: Bool? { nil }
  public var isDirectory: Bool? { nil }
  public var isSymbolicLink: Bool? { nil }
  public var fileResourceType: URLFileResourceType? { nil }
  public var fileSize: Int? { nil }
  public var isWritable: Bool? { nil }
  public var contentModificationDate: Date?
  public var isExcludedFromBackup: Bool?
  public var fileProtection: FileProtectionType? { nil }
  public var volumeIsLocal: Bool? { nil }
}
extension URL {
  public func resourceValues(forKeys keys: Set<URLResourceKey>) throws -> URLResourceValues { fatalError() }
  public mutating func setResourceValues(_ values: URLResourceValues) throws {}
}
extension FileAttributeKey {
  public static let protectionKey = FileAttributeKey(rawValue: "NSFileProtectionKey")
}
