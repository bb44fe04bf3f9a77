//! Writes what is generated from `.proto` files: the types and descriptors of `tidegate.v1`, and the descriptors of
//! Envoy's rate limit service.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    let frontend = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/tidegate-frontend");
    own_service(&frontend)?;
    envoy_service(&frontend)
}

fn own_service(frontend: &Path) -> Result<(), Box<dyn Error>> {
    let described = protox::compile(["tidegate/v1/limits.proto"], [frontend.join("proto")])?;
    std::fs::write(frontend.join("src/v1/limits.bin"), described.encode_to_vec())?;
    let folder = std::env::temp_dir().join(format!("tidegate-generate-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    tonic_prost_build::configure().out_dir(&folder).compile_fds(described)?;
    std::fs::copy(folder.join("tidegate.v1.rs"), frontend.join("src/v1/generated.rs"))?;
    Ok(std::fs::remove_dir_all(&folder)?)
}

/// Only descriptors, for reflection: the types come from `envoy-types`, whose package holds the `.proto` files too.
fn envoy_service(frontend: &Path) -> Result<(), Box<dyn Error>> {
    let proto = envoy_types()?.join("proto");
    let folders = ["data-plane-api", "protoc-gen-validate", "xds", "googleapis"].map(|part| proto.join(part));
    let mut compiler = protox::Compiler::new(folders)?;
    compiler.include_imports(true).open_file("envoy/service/ratelimit/v3/rls.proto")?;
    Ok(std::fs::write(frontend.join("src/rls/rls.bin"), compiler.encode_file_descriptor_set())?)
}

/// The folder of the package as Cargo has it.
fn envoy_types() -> Result<PathBuf, Box<dyn Error>> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1", "--manifest-path", manifest])
        .output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let found = packages.iter().find(|package| package["name"] == "envoy-types");
    let manifest = found.and_then(|package| package["manifest_path"].as_str());
    let folder = manifest.and_then(|manifest| Path::new(manifest).parent());
    Ok(folder.ok_or("envoy-types is not among the packages")?.to_owned())
}
