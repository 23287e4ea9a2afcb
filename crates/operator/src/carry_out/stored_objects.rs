//! Reads the stored objects of CRDs that are to be replaced, for the findings of [`Preflight`].

use clearway_bundle::Preflight;
use clearway_sources::store::{ObjectPages, Store, StoreError};

/// Hands every stored object that a preflight wants to it, with one page in memory at a time. `progress` is told the CRD and
/// how many of its objects were checked. Objects that may not be listed are a finding; an API server that does not answer is
/// an error.
pub async fn check_stored_objects<S: Store>(
    store: &S,
    preflight: &mut Preflight,
    mut progress: impl FnMut(&str, usize) + Send,
) -> Result<(), StoreError> {
    for (crd, kind) in preflight.wanted() {
        let (mut pages, mut checked) = (ObjectPages::new(store, kind), 0_usize);
        loop {
            match pages.next_page().await {
                Ok(Some(page)) => {
                    for object in &page.items {
                        preflight.check_object(&crd, object);
                    }
                    checked += page.items.len();
                    progress(&crd, checked);
                }
                Ok(None) => break,
                Err(error) if error.is_passing() => return Err(error),
                Err(error) => {
                    preflight.not_listed(&crd, &error.to_string());
                    break;
                }
            }
        }
    }
    Ok(())
}
