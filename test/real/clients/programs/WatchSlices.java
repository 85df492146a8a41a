import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSlice;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.apis.DiscoveryV1Api;
import io.kubernetes.client.openapi.models.V1EndpointSlice;
import io.kubernetes.client.openapi.models.V1EndpointSliceList;
import io.kubernetes.client.util.CallGeneratorParams;
import io.kubernetes.client.util.ClientBuilder;
import io.kubernetes.client.util.KubeConfig;
import java.io.File;
import java.io.FileReader;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * Follows the EndpointSlices of the namespace default with the informer of one of two libraries.
 *
 * Usage: WatchSlices LIBRARY KUBECONFIG. Each line of the output is what it has then, as JSON: the sorted addresses.
 */
public class WatchSlices {
  private static final String NAMESPACE = "default";
  private static final Map<String, List<String>> slices = new ConcurrentHashMap<>();

  public static void main(String[] args) throws Exception {
    if (args[0].equals("fabric8")) fabric8(args[1]);
    else clientJava(args[1]);
    Thread.currentThread().join();
  }

  private static synchronized void put(String name, List<String> addresses) {
    if (addresses == null) slices.remove(name);
    else slices.put(name, addresses);
    System.out.println(slices.values().stream().flatMap(List::stream).sorted()
        .map(address -> "\"" + address + "\"").collect(Collectors.joining(",", "[", "]")));
  }

  private static void fabric8(String path) throws Exception {
    var client = new KubernetesClientBuilder().withConfig(Config.fromKubeconfig(new File(path))).build();
    client.discovery().v1().endpointSlices().inNamespace(NAMESPACE)
        .inform(new ResourceEventHandler<EndpointSlice>() {
          public void onAdd(EndpointSlice slice) {
            put(slice.getMetadata().getName(),
                slice.getEndpoints().stream().flatMap(each -> each.getAddresses().stream()).toList());
          }
          public void onUpdate(EndpointSlice before, EndpointSlice slice) { onAdd(slice); }
          public void onDelete(EndpointSlice slice, boolean unknown) {
            put(slice.getMetadata().getName(), null);
          }
        });
  }

  private static void clientJava(String path) throws Exception {
    var client = ClientBuilder.kubeconfig(KubeConfig.loadKubeConfig(new FileReader(path))).build();
    client.setReadTimeout(0);
    var api = new DiscoveryV1Api(client);
    var factory = new SharedInformerFactory(client);
    var informer = factory.sharedIndexInformerFor(
        (CallGeneratorParams params) -> api.listNamespacedEndpointSlice(NAMESPACE)
            .resourceVersion(params.resourceVersion).timeoutSeconds(params.timeoutSeconds)
            .watch(params.watch).buildCall(null),
        V1EndpointSlice.class, V1EndpointSliceList.class);
    informer.addEventHandler(new io.kubernetes.client.informer.ResourceEventHandler<V1EndpointSlice>() {
      public void onAdd(V1EndpointSlice slice) {
        put(slice.getMetadata().getName(),
            slice.getEndpoints().stream().flatMap(each -> each.getAddresses().stream()).toList());
      }
      public void onUpdate(V1EndpointSlice before, V1EndpointSlice slice) { onAdd(slice); }
      public void onDelete(V1EndpointSlice slice, boolean unknown) {
        put(slice.getMetadata().getName(), null);
      }
    });
    factory.startAllRegisteredInformers();
  }
}
