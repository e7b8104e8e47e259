// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What Apple's Swift overlay of the C library declares: constants that are macros in C,
// typealiases, and functions with variable arguments.
@_exported import Darwin

// Nothing else of glibc may be visible. POSIXError of FoundationEssentials is made of this.
@_exported import enum Glibc.POSIXErrorCode

public typealias pid_t = Int32
public typealias uid_t = UInt32
public typealias gid_t = UInt32
public typealias mode_t = UInt16
public typealias off_t = Int64
public typealias time_t = Int
public typealias size_t = Int
public typealias ssize_t = Int
public typealias dev_t = Int32
public typealias ino_t = UInt64
public typealias nlink_t = UInt16
public typealias nfds_t = UInt32
public typealias u_int = UInt32
public typealias u_char = UInt8
public typealias u_short = UInt16
public typealias u_long = UInt
public typealias suseconds_t = Int32
public typealias useconds_t = UInt32
public typealias tcflag_t = UInt
public typealias speed_t = UInt
public typealias cc_t = UInt8
public typealias sigset_t = UInt32
public typealias sig_t = @convention(c) (Int32) -> Void
public typealias rlim_t = UInt64
public typealias natural_t = UInt32
public typealias integer_t = Int32
public typealias kern_return_t = Int32
public typealias mach_port_t = UInt32
public typealias mach_msg_type_number_t = UInt32
public typealias task_flavor_t = UInt32
public typealias task_info_t = UnsafeMutablePointer<integer_t>
public typealias mach_task_basic_info_data_t = mach_task_basic_info
public typealias mach_timebase_info_data_t = mach_timebase_info
public typealias pthread_t = UnsafeMutablePointer<_opaque_pthread_t>
public typealias pthread_key_t = UInt
public typealias os_unfair_lock = os_unfair_lock_s
public typealias os_unfair_lock_t = UnsafeMutablePointer<os_unfair_lock_s>

public var errno: Int32 {
  get { 0 }
  set {}
}
public var environ: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> { fatalError() }

// MARK: - Variable arguments

@discardableResult public func open(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 { 0 }
@discardableResult public func open(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t) -> Int32 { 0 }
@discardableResult public func fcntl(_ file: Int32, _ command: Int32) -> Int32 { 0 }
@discardableResult public func fcntl(_ file: Int32, _ command: Int32, _ value: Int32) -> Int32 { 0 }
@discardableResult
public func fcntl(_ file: Int32, _ command: Int32, _ pointer: UnsafeMutableRawPointer) -> Int32 { 0 }
@discardableResult public func ioctl(_ file: Int32, _ request: UInt) -> Int32 { 0 }
@discardableResult public func ioctl(_ file: Int32, _ request: UInt, _ value: Int32) -> Int32 { 0 }
@discardableResult
public func ioctl(_ file: Int32, _ request: UInt, _ pointer: UnsafeMutableRawPointer) -> Int32 { 0 }

// MARK: - Constants

public var CLOCK_REALTIME: clockid_t { clockid_t(rawValue: 0) }
public var CLOCK_MONOTONIC: clockid_t { clockid_t(rawValue: 6) }
public var CLOCK_MONOTONIC_RAW: clockid_t { clockid_t(rawValue: 4) }
public var CLOCK_MONOTONIC_RAW_APPROX: clockid_t { clockid_t(rawValue: 5) }
public var CLOCK_UPTIME_RAW: clockid_t { clockid_t(rawValue: 8) }
public var CLOCK_UPTIME_RAW_APPROX: clockid_t { clockid_t(rawValue: 9) }
public var CLOCK_PROCESS_CPUTIME_ID: clockid_t { clockid_t(rawValue: 12) }
public var CLOCK_THREAD_CPUTIME_ID: clockid_t { clockid_t(rawValue: 16) }

public var QOS_CLASS_USER_INTERACTIVE: qos_class_t { qos_class_t(rawValue: 0x21) }
public var QOS_CLASS_USER_INITIATED: qos_class_t { qos_class_t(rawValue: 0x19) }
public var QOS_CLASS_DEFAULT: qos_class_t { qos_class_t(rawValue: 0x15) }
public var QOS_CLASS_UTILITY: qos_class_t { qos_class_t(rawValue: 0x11) }
public var QOS_CLASS_BACKGROUND: qos_class_t { qos_class_t(rawValue: 0x09) }
public var QOS_CLASS_UNSPECIFIED: qos_class_t { qos_class_t(rawValue: 0) }

public var EPERM: Int32 { 1 }
public var ENOENT: Int32 { 2 }
public var ESRCH: Int32 { 3 }
public var EINTR: Int32 { 4 }
public var EIO: Int32 { 5 }
public var EBADF: Int32 { 9 }
public var ECHILD: Int32 { 10 }
public var ENOMEM: Int32 { 12 }
public var EACCES: Int32 { 13 }
public var EBUSY: Int32 { 16 }
public var EEXIST: Int32 { 17 }
public var ENOTDIR: Int32 { 20 }
public var EISDIR: Int32 { 21 }
public var EINVAL: Int32 { 22 }
public var EMFILE: Int32 { 24 }
public var ENOTTY: Int32 { 25 }
public var ENOSPC: Int32 { 28 }
public var EROFS: Int32 { 30 }
public var EPIPE: Int32 { 32 }
public var ERANGE: Int32 { 34 }
public var EAGAIN: Int32 { 35 }
public var EWOULDBLOCK: Int32 { 35 }
public var ENOTSUP: Int32 { 45 }
public var ETIMEDOUT: Int32 { 60 }
public var ENOTEMPTY: Int32 { 66 }
public var EDQUOT: Int32 { 69 }
public var EXDEV: Int32 { 18 }

public var O_RDONLY: Int32 { 0 }
public var O_WRONLY: Int32 { 1 }
public var O_RDWR: Int32 { 2 }
public var O_NONBLOCK: Int32 { 4 }
public var O_APPEND: Int32 { 8 }
public var O_CREAT: Int32 { 0x200 }
public var O_TRUNC: Int32 { 0x400 }
public var O_EXCL: Int32 { 0x800 }
public var O_NOFOLLOW: Int32 { 0x100 }
public var O_CLOEXEC: Int32 { 0x100_0000 }
public var F_GETFD: Int32 { 1 }
public var F_SETFD: Int32 { 2 }
public var F_GETFL: Int32 { 3 }
public var F_SETFL: Int32 { 4 }
public var F_GETLK: Int32 { 7 }
public var F_SETLK: Int32 { 8 }
public var F_SETLKW: Int32 { 9 }
public var F_NOCACHE: Int32 { 48 }
public var F_GETPATH: Int32 { 50 }
public var F_FULLFSYNC: Int32 { 51 }
public var F_BARRIERFSYNC: Int32 { 85 }
public var FD_CLOEXEC: Int32 { 1 }
public var _PC_NAME_MAX: Int32 { 4 }
public var F_OK: Int32 { 0 }
public var X_OK: Int32 { 1 }
public var W_OK: Int32 { 2 }
public var R_OK: Int32 { 4 }
public var LOCK_SH: Int32 { 1 }
public var LOCK_EX: Int32 { 2 }
public var LOCK_NB: Int32 { 4 }
public var LOCK_UN: Int32 { 8 }
public var SEEK_SET: Int32 { 0 }
public var SEEK_CUR: Int32 { 1 }
public var SEEK_END: Int32 { 2 }
public var STDIN_FILENO: Int32 { 0 }
public var STDOUT_FILENO: Int32 { 1 }
public var STDERR_FILENO: Int32 { 2 }
public var PATH_MAX: Int32 { 1024 }
public var RENAME_SWAP: Int32 { 2 }
public var RENAME_EXCL: Int32 { 4 }
public var S_IFMT: mode_t { 0o170000 }
public var S_IFIFO: mode_t { 0o010000 }
public var S_IFCHR: mode_t { 0o020000 }
public var S_IFDIR: mode_t { 0o040000 }
public var S_IFBLK: mode_t { 0o060000 }
public var S_IFREG: mode_t { 0o100000 }
public var S_IFLNK: mode_t { 0o120000 }
public var S_IFSOCK: mode_t { 0o140000 }
public var S_IRWXU: mode_t { 0o700 }
public var S_IRUSR: mode_t { 0o400 }
public var S_IWUSR: mode_t { 0o200 }
public var S_IXUSR: mode_t { 0o100 }

public var POLLIN: Int32 { 1 }
public var POLLOUT: Int32 { 4 }
public var POLLERR: Int32 { 8 }
public var POLLHUP: Int32 { 16 }

public var SIGHUP: Int32 { 1 }
public var SIGINT: Int32 { 2 }
public var SIGQUIT: Int32 { 3 }
public var SIGABRT: Int32 { 6 }
public var SIGKILL: Int32 { 9 }
public var SIGSEGV: Int32 { 11 }
public var SIGPIPE: Int32 { 13 }
public var SIGALRM: Int32 { 14 }
public var SIGTERM: Int32 { 15 }
public var SIGSTOP: Int32 { 17 }
public var SIGCONT: Int32 { 19 }
public var SIGCHLD: Int32 { 20 }
public var SIGWINCH: Int32 { 28 }
public var SIGUSR1: Int32 { 30 }
public var SIGUSR2: Int32 { 31 }
public var SA_RESTART: Int32 { 2 }
public var SA_SIGINFO: Int32 { 0x40 }
public var SIG_BLOCK: Int32 { 1 }
public var SIG_UNBLOCK: Int32 { 2 }
public var SIG_SETMASK: Int32 { 3 }
public var SIG_DFL: sig_t? { nil }
public var SIG_IGN: sig_t { unsafeBitCast(1, to: sig_t.self) }
public var SIG_ERR: sig_t { unsafeBitCast(-1, to: sig_t.self) }
public var WNOHANG: Int32 { 1 }

public var CTL_KERN: Int32 { 1 }
public var CTL_HW: Int32 { 6 }
public var KERN_PROC: Int32 { 14 }
public var KERN_PROC_PID: Int32 { 1 }
public var KERN_BOOTTIME: Int32 { 21 }
public var SRUN: Int32 { 2 }
public var SSLEEP: Int32 { 3 }
public var SZOMB: Int32 { 5 }
public var RUSAGE_SELF: Int32 { 0 }
public var RLIMIT_NOFILE: Int32 { 8 }
public var RLIMIT_STACK: Int32 { 3 }
public var _SC_PAGESIZE: Int32 { 29 }
public var _SC_NPROCESSORS_ONLN: Int32 { 58 }
public var KERN_SUCCESS: Int32 { 0 }
public var MACH_TASK_BASIC_INFO: Int32 { 20 }

public var TIOCGWINSZ: UInt { 0x4008_7468 }
public var TCSANOW: Int32 { 0 }
public var TCSAFLUSH: Int32 { 2 }
public var ECHO: Int32 { 8 }
public var ICANON: Int32 { 0x100 }
public var ISIG: Int32 { 0x80 }
public var VMIN: Int32 { 16 }
public var VTIME: Int32 { 17 }

public var PTHREAD_MUTEX_RECURSIVE: Int32 { 2 }

// MARK: - Mathematics

public func pow(_ x: Double, _ y: Double) -> Double { x }
public func exp(_ x: Double) -> Double { x }
public func exp2(_ x: Double) -> Double { x }
public func log(_ x: Double) -> Double { x }
public func log2(_ x: Double) -> Double { x }
public func log10(_ x: Double) -> Double { x }
public func log1p(_ x: Double) -> Double { x }
public func sin(_ x: Double) -> Double { x }
public func cos(_ x: Double) -> Double { x }
public func tan(_ x: Double) -> Double { x }
public func atan2(_ y: Double, _ x: Double) -> Double { x }
public func hypot(_ x: Double, _ y: Double) -> Double { x }
public func fmod(_ x: Double, _ y: Double) -> Double { x }
public func sqrt<T: FloatingPoint>(_ x: T) -> T { x }
public func floor<T: FloatingPoint>(_ x: T) -> T { x }
public func ceil<T: FloatingPoint>(_ x: T) -> T { x }
public func round<T: FloatingPoint>(_ x: T) -> T { x }
public func trunc<T: FloatingPoint>(_ x: T) -> T { x }
public func fabs<T: FloatingPoint>(_ x: T) -> T { x }
