//! Bytes of an object as they were before compression. Nothing is held but a buffer of the decoder, also if a
//! few bytes become many.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;
use keywright_semantics::request::parts::InputCompressionType;
use zstd::stream::read::Decoder;

/// The smallest window of zstd that every reader takes (RFC 8878), as a power of two.
const WINDOW_LOG_MIN: u32 = 23;
/// The largest that the command line tool takes without being asked.
const WINDOW_LOG_MAX: u32 = 27;

/// The window of zstd that fits in so many bytes, as a power of two.
pub(super) fn window_log(memory_bytes: u64) -> u32 {
    memory_bytes.checked_ilog2().unwrap_or(0).clamp(WINDOW_LOG_MIN, WINDOW_LOG_MAX)
}

/// The compression that bytes begin with: its name in requests, and at the command line.
pub(super) fn recognized(start: &[u8]) -> Option<(&'static str, &'static str)> {
    match start {
        [0x1f, 0x8b, ..] => Some((InputCompressionType::Gzip.name(), "gzip")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some((InputCompressionType::Zstd.name(), "zstd")),
        _ => None,
    }
}

/// The bytes before compression.
pub(super) fn inflated<'r>(
    compressed: impl BufRead + 'r,
    compression: InputCompressionType,
    window_log: u32,
) -> io::Result<Box<dyn Read + 'r>> {
    Ok(match compression {
        InputCompressionType::None => Box::new(compressed),
        InputCompressionType::Gzip => Box::new(MultiGzDecoder::new(compressed)),
        InputCompressionType::Zstd => {
            let mut decoder = Decoder::with_buffer(compressed)?;
            decoder.window_log_max(window_log)?;
            Box::new(decoder)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], compression: InputCompressionType) -> Result<Vec<u8>, io::Error> {
        let mut out = Vec::new();
        inflated(bytes, compression, WINDOW_LOG_MIN)?.read_to_end(&mut out)?;
        Ok(out)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        flate2::read::GzEncoder::new(text, flate2::Compression::fast()).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn each_compression_gives_back_what_was_compressed_also_in_several_parts() {
        let zstd = |text: &[u8]| zstd::encode_all(text, 1).unwrap();
        let both = |one: Vec<u8>, two: Vec<u8>| [one, two].concat();
        assert_eq!(read(b"ab", InputCompressionType::None).unwrap(), b"ab");
        assert_eq!(read(&both(gzip(b"a"), gzip(b"b")), InputCompressionType::Gzip).unwrap(), b"ab");
        assert_eq!(read(&both(zstd(b"a"), zstd(b"b")), InputCompressionType::Zstd).unwrap(), b"ab");
    }

    #[test]
    fn compressed_bytes_are_recognized_by_their_start() {
        assert_eq!(recognized(&gzip(b"a")), Some(("GZIP", "gzip")));
        assert_eq!(recognized(&zstd::encode_all(&b"a"[..], 1).unwrap()), Some(("ZSTD", "zstd")));
        assert_eq!(recognized(b"{\"Item\": {}}"), None);
    }

    #[test]
    fn what_is_not_of_the_compression_is_a_fault_also_behind_what_is() {
        for compression in [InputCompressionType::Gzip, InputCompressionType::Zstd] {
            assert!(read(b"{\"Item\":{}}", compression).is_err());
        }
        assert!(
            read(&[gzip(b"a"), b"garbage that is no member".to_vec()].concat(), InputCompressionType::Gzip)
                .is_err()
        );
        let mut cut = gzip(&[7; 10_000]);
        cut.truncate(cut.len() - 3);
        assert!(read(&cut, InputCompressionType::Gzip).is_err());
        let mut cut = zstd::encode_all(&[7_u8; 10_000][..], 1).unwrap();
        cut.truncate(cut.len() - 3);
        assert!(read(&cut, InputCompressionType::Zstd).is_err());
    }

    #[test]
    fn a_window_that_does_not_fit_in_memory_is_a_fault() {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(26).unwrap();
        io::copy(&mut io::repeat(b'x').take(1 << 27), &mut encoder).unwrap();
        let compressed = encoder.finish().unwrap();
        assert!(read(&compressed, InputCompressionType::Zstd).is_err());
        assert_eq!((window_log(1), window_log(1 << 25), window_log(u64::MAX)), (23, 25, 27));
    }
}
