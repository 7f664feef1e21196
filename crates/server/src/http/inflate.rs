//! Decompresses request bodies in bounded steps, up to the limit of a request and within the body budget.
//!
//! Authentication comes before it.

use std::io::Read as _;

use bytes::Bytes;
use flate2::bufread::{GzDecoder, ZlibDecoder};
use hyper::header::HeaderValue;

use crate::connection::body::{BYTES_MAX, Hold};
use crate::connection::budget::Exhausted;
use crate::limits::{GZIP_MEMBERS_MAX, INFLATED_BYTES_AT_ONCE, INFLATED_BYTES_FREE, INFLATED_RATIO_MAX};

/// Why a body was not decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InflateFault {
    /// The body is not in the coding that the head names.
    Broken,
    /// The plain body is larger than allowed.
    Swollen,
    Exhausted,
}

enum Decoder<'b> {
    Gzip { decoder: GzDecoder<&'b [u8]>, members: usize },
    Deflate(ZlibDecoder<&'b [u8]>),
}

impl<'b> Decoder<'b> {
    fn new(coding: &HeaderValue, body: &'b [u8]) -> Option<Self> {
        let name = coding.to_str().ok()?.trim();
        if body.is_empty() {
            None
        } else if name.eq_ignore_ascii_case("gzip") {
            Some(Self::Gzip { decoder: GzDecoder::new(body), members: 1 })
        } else if name.eq_ignore_ascii_case("deflate") {
            Some(Self::Deflate(ZlibDecoder::new(body)))
        } else {
            None
        }
    }

    /// Reads the next plain bytes; 0 at the end.
    fn read(&mut self, room: &mut [u8]) -> Result<usize, InflateFault> {
        match self {
            Self::Deflate(decoder) => decoder.read(room).map_err(|_error| InflateFault::Broken),
            Self::Gzip { decoder, members } => loop {
                let read = decoder.read(room).map_err(|_error| InflateFault::Broken)?;
                let rest: &'b [u8] = decoder.get_ref();
                if read > 0 || rest.is_empty() {
                    return Ok(read);
                }
                if *members == GZIP_MEMBERS_MAX {
                    return Err(InflateFault::Swollen);
                }
                *members += 1;
                *decoder = GzDecoder::new(rest);
            },
        }
    }
}

/// Decompresses a body. It yields to other tasks between pieces.
pub(crate) async fn inflate(
    coding: &HeaderValue,
    body: &[u8],
    hold: &mut Hold<'_>,
) -> Result<Bytes, InflateFault> {
    let mut decoder = Decoder::new(coding, body).ok_or(InflateFault::Broken)?;
    let most =
        body.len().saturating_mul(INFLATED_RATIO_MAX).saturating_add(INFLATED_BYTES_FREE).min(BYTES_MAX);
    let mut plain = Vec::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut yielded = 0;
    loop {
        let read = decoder.read(&mut piece)?;
        let Some(data) = piece.get(..read).filter(|data| !data.is_empty()) else { break };
        let length = plain.len() + data.len();
        if length > most {
            return Err(InflateFault::Swollen);
        }
        if plain.capacity() < length {
            let capacity = length.next_power_of_two().min(most);
            let together = body.len().saturating_add(capacity);
            hold.grow_to(together).await.map_err(|Exhausted| InflateFault::Exhausted)?;
            plain.reserve_exact(capacity - plain.len());
        }
        plain.extend_from_slice(data);
        if length - yielded >= INFLATED_BYTES_AT_ONCE {
            yielded = length;
            tokio::task::yield_now().await;
        }
    }
    Ok(Bytes::from(plain))
}

/// Plain bytes of one call of the decoder.
const PIECE_BYTES: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    use super::*;
    use crate::connection::body::BodyBudgets;
    use crate::limits::{Limits, PerAddress};

    const GZIP: HeaderValue = HeaderValue::from_static("gzip");

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    /// Text that compresses to about a fifth.
    fn text(bytes: usize) -> Vec<u8> {
        (0..bytes / 8)
            .flat_map(|number: usize| format!("{:08}", number * 7919 % 99_999_989).into_bytes())
            .collect()
    }

    async fn opened(coding: &HeaderValue, body: &[u8]) -> Result<Bytes, InflateFault> {
        let budgets = BodyBudgets::new(&Limits {
            connections_max: 1,
            connections_per_address: PerAddress::Unlimited,
            requests_per_address: PerAddress::Unlimited,
            body_budget_bytes: 32 << 20,
            decode_budget_bytes: 0,
            answer_budget_bytes: 0,
            check_ms: 1,
            budget_wait_ms: 10,
        });
        let mut hold = budgets.hold(true);
        inflate(coding, body, &mut hold).await
    }

    #[tokio::test]
    async fn a_compressed_body_is_decompressed() {
        let plain = text(2_000_000);
        assert_eq!(opened(&GZIP, &gzip(&plain)).await.unwrap(), plain);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&plain).unwrap();
        let deflate = HeaderValue::from_static("Deflate");
        assert_eq!(opened(&deflate, &encoder.finish().unwrap()).await.unwrap(), plain);
    }

    #[tokio::test]
    async fn a_body_that_is_not_compressed_is_refused() {
        assert_eq!(opened(&GZIP, b"not gzip").await, Err(InflateFault::Broken));
        assert_eq!(opened(&GZIP, b"").await, Err(InflateFault::Broken));
        assert_eq!(opened(&HeaderValue::from_static("br"), b"x").await, Err(InflateFault::Broken));
        let mut broken = gzip(&text(10_000));
        broken.truncate(broken.len() - 3);
        assert_eq!(opened(&GZIP, &broken).await, Err(InflateFault::Broken));
    }

    #[tokio::test]
    async fn a_plain_body_over_the_size_or_ratio_limit_is_refused() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![0; 5_000_000]).unwrap();
        let bomb = encoder.finish().unwrap();
        assert_eq!(opened(&GZIP, &bomb).await, Err(InflateFault::Swollen));
        assert_eq!(opened(&GZIP, &gzip(&text(BYTES_MAX + 8))).await, Err(InflateFault::Swollen));
        assert!(opened(&GZIP, &gzip(&vec![0; 1_000_000])).await.is_ok());
    }

    #[tokio::test]
    async fn the_number_of_gzip_members_is_limited() {
        let member = gzip(b"ab");
        assert_eq!(opened(&GZIP, &member.repeat(GZIP_MEMBERS_MAX)).await.unwrap(), b"ab".repeat(16));
        assert_eq!(opened(&GZIP, &member.repeat(GZIP_MEMBERS_MAX + 1)).await, Err(InflateFault::Swollen));
    }
}
