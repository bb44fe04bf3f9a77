//! The service as it describes itself to tools such as grpcurl. `make generate` writes the descriptors anew.

/// The descriptors of the service and of all messages that it refers to, as `tonic-reflection` takes them.
pub const fn file_descriptor_set() -> &'static [u8] {
    include_bytes!("rls.bin")
}

#[cfg(test)]
mod tests {
    use envoy_types::pb::google::protobuf::{FileDescriptorProto, FileDescriptorSet};
    use prost::Message as _;

    use super::*;

    #[test]
    fn describes_the_service_and_its_imports() {
        let decoded = FileDescriptorSet::decode(file_descriptor_set()).unwrap();
        let services = decoded.file.iter().flat_map(|file| {
            file.service.iter().map(move |service| format!("{}.{}", file.package(), service.name()))
        });
        assert_eq!(services.collect::<Vec<_>>(), [crate::rls::SERVICE_NAME]);
        let names: Vec<_> = decoded.file.iter().map(FileDescriptorProto::name).collect();
        for (place, file) in decoded.file.iter().enumerate() {
            let known = |needed: &String| names[..place].contains(&needed.as_str());
            assert!(file.dependency.iter().all(known), "{} imports what is not there", file.name());
        }
    }
}
