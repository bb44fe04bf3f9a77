//! What the gRPC door says of itself, to tools such as grpcurl.

use tonic::transport::{Channel, Endpoint};
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

use crate::patience::within;
use crate::tidegate::Tidegate;

const SERVICE: &str = "envoy.service.ratelimit.v3.RateLimitService";

async fn reflect(client: &mut ServerReflectionClient<Channel>, question: MessageRequest) -> MessageResponse {
    let request = ServerReflectionRequest { host: String::new(), message_request: Some(question) };
    let answers = client.server_reflection_info(tokio_stream::once(request)).await.unwrap();
    let answer: Option<ServerReflectionResponse> = answers.into_inner().message().await.unwrap();
    answer.and_then(|answer| answer.message_response).expect("an answer to each question")
}

#[tokio::test]
async fn the_door_describes_its_services() {
    let tidegate = Tidegate::with("domain: api\nrules: []\n").await;
    let endpoint = Endpoint::from_shared(format!("http://{}", tidegate.grpc)).unwrap();
    let channel = within("a connection to the gRPC door", endpoint.connect()).await.unwrap();
    let mut client = ServerReflectionClient::new(channel);

    let listed = within("services", reflect(&mut client, MessageRequest::ListServices(String::new()))).await;
    let MessageResponse::ListServicesResponse(listed) = listed else { panic!("{listed:?}") };
    let names: Vec<String> = listed.service.into_iter().map(|service| service.name).collect();
    for name in [SERVICE, "grpc.health.v1.Health"] {
        assert!(names.iter().any(|listed| listed == name), "{name} is not in {names:?}");
    }

    let question = MessageRequest::FileContainingSymbol(SERVICE.to_owned());
    let described = within("the service's file", reflect(&mut client, question)).await;
    let MessageResponse::FileDescriptorResponse(files) = described else { panic!("{described:?}") };
    let named = |file: &Vec<u8>| file.windows(15).any(|bytes| bytes == b"ShouldRateLimit");
    assert!(files.file_descriptor_proto.iter().any(named), "the method is described");
}
