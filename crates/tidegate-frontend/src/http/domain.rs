//! The domain of a question that names none: the only one of the rules.

use tidegate_store::Store;

use crate::door::Door;
use tidegate_wire::json::FieldError;

/// The only domain of the rules in force; an error if there are several, or none.
pub(super) fn sole_domain<S: Store>(door: &Door<S>, what: &str) -> Result<String, FieldError> {
    let snapshot = door.engine().snapshot();
    let domain = snapshot.sole_domain().map(|domain| domain.name.to_string());
    domain.ok_or_else(|| {
        FieldError::new(format!("{what} has no `domain`, and the rules do not have just one; name it"))
    })
}
