// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What is asked about the certificate of a server. The real functions give and take what Core
// Foundation has.

import Foundation

public final class SecCertificate: Sendable {}
public final class SecKey: Sendable {}
public typealias CFString = String
public struct CFError {}

public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> Any? { nil }
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? { nil }
public func SecKeyCopyExternalRepresentation(_ key: SecKey, _ error: UnsafeMutablePointer<CFError?>?) -> Data? { nil }
public func SecKeyCopyAttributes(_ key: SecKey) -> Any? { nil }
public let kSecAttrKeyType: CFString = ""
public let kSecAttrKeyTypeRSA: CFString = ""
public let kSecAttrKeySizeInBits: CFString = ""
