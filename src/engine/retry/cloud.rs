//! Credentials of a cloud provider that stands before the API: each says in its own way that they are no longer good.

use super::AttemptFailure;
use crate::settings::CloudProvider;

/// Whether a failure asks for new credentials of this provider.
pub(super) fn wants_credentials(provider: CloudProvider, failure: &AttemptFailure) -> bool {
    if failure.status.is_some_and(|status| status >= 500) {
        return false;
    }
    let said = failure.message.to_lowercase();
    let says = |all: &[&str]| all.iter().all(|part| said.contains(part));
    match provider {
        // The token of a session, or the credentials that it is made from.
        CloudProvider::Bedrock => {
            failure.status == Some(403) || says(&["security token"]) || says(&["expired", "token"]) || says(&["credentials"])
        }
        CloudProvider::Vertex => {
            failure.status == Some(401) || says(&["invalid_grant"]) || says(&["access token"]) || says(&["credentials"])
        }
    }
}
