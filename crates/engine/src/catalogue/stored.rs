//! The stored forms of settings whose types belong to `semantics`, which has no stored format.
//!
//! A variant is stored as its place in the enum here: variants are only added, at the end.

use keywright_semantics::schema::{BillingMode, StreamView, TableClass};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(remote = "StreamView")]
pub(super) enum StreamViewRecord {
    KeysOnly,
    NewImage,
    OldImage,
    NewAndOldImages,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "BillingMode")]
pub(super) enum BillingModeRecord {
    Provisioned,
    PayPerRequest,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TableClass")]
pub(super) enum TableClassRecord {
    Standard,
    StandardInfrequentAccess,
}

/// The stored form of a view that may be absent.
pub(super) mod optional_view {
    use super::{StreamView, StreamViewRecord};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Present(#[serde(with = "StreamViewRecord")] StreamView);

    // serde names the field by reference.
    #[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref)]
    pub(in crate::catalogue) fn serialize<S: Serializer>(
        view: &Option<StreamView>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        view.map(Present).serialize(serializer)
    }

    pub(in crate::catalogue) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<StreamView>, D::Error> {
        Ok(Option::<Present>::deserialize(deserializer)?.map(|present| present.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Settings {
        #[serde(with = "StreamViewRecord")]
        view: StreamView,
        #[serde(with = "BillingModeRecord")]
        billing: BillingMode,
        #[serde(with = "TableClassRecord")]
        class: TableClass,
        #[serde(with = "optional_view")]
        optional: Option<StreamView>,
    }

    #[test]
    fn settings_are_stored_as_the_numbers_that_existing_databases_have() {
        let views =
            [StreamView::KeysOnly, StreamView::NewImage, StreamView::OldImage, StreamView::NewAndOldImages];
        for (view, place) in views.into_iter().zip(0_u8..) {
            let settings = Settings {
                view,
                billing: BillingMode::PayPerRequest,
                class: TableClass::StandardInfrequentAccess,
                optional: Some(view),
            };
            let bytes = postcard::to_allocvec(&settings).expect("it is encoded");
            assert_eq!(bytes, [place, 1, 1, 1, place]);
            assert_eq!(postcard::from_bytes(&bytes), Ok(settings));
        }
        let settings = Settings {
            view: StreamView::KeysOnly,
            billing: BillingMode::Provisioned,
            class: TableClass::Standard,
            optional: None,
        };
        let bytes = postcard::to_allocvec(&settings).expect("it is encoded");
        assert_eq!(bytes, [0, 0, 0, 0]);
        assert_eq!(postcard::from_bytes(&bytes), Ok(settings));
    }
}
