//! Writes the types of `tidegate.v1` and their descriptors into the crate that speaks it.

use std::error::Error;
use std::path::Path;

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    let wire = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/tidegate-wire");
    let described = protox::compile(["tidegate/v1/limits.proto"], [wire.join("proto")])?;
    std::fs::write(wire.join("src/v1/limits.bin"), described.encode_to_vec())?;
    let folder = std::env::temp_dir().join(format!("tidegate-generate-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    tonic_prost_build::configure().out_dir(&folder).compile_fds(described)?;
    std::fs::copy(folder.join("tidegate.v1.rs"), wire.join("src/v1/generated.rs"))?;
    Ok(std::fs::remove_dir_all(&folder)?)
}
