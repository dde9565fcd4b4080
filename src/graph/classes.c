/*
 * The one table of operator types, whatever format they come from. A type is compared without its domain
 * ("com.microsoft::", "aten::", "stablehlo."), without overload (".Tensor"), in lower case and without '_' and '-',
 * so that ReduceSum, reduce_sum and reduce-sum are one. What the table does not have is told by words inside the name.
 */
#include <string.h>

#include "graph/model.h"

typedef struct class_words {
    graph_class klass;
    const char *words; /* between spaces */
} class_words;

static const class_words TABLE[] = {
    {GRAPH_CLASS_MATMUL,
     " matmul matmulv2 matmulv3 batchmatmul batchmatmulv2 batchmatmulv3 gemm dot dotgeneral mm bmm addmm baddbmm "
     "linear "
     "dense fusedmatmul matmulinteger qlinearmatmul matmulnbits einsum einsumdense raggeddot groupedmatmul "
     "groupedmm tensordot fullyconnected innerproduct quantlinear scaledmm intmm addmv mv outer ger baddmm "
     "fusedgemm matmulfpq4 groupedgemm sparsematmul qgemm matvec weightquantbatchmatmul "},
    {GRAPH_CLASS_CONVOLUTION,
     " conv convtranspose convinteger qlinearconv conv1d conv2d conv3d convolution cudnnconvolution fusedconv "
     "depthwiseconv2dnative depthwiseconv2d conv2dbackpropinput conv2dbackpropfilter conv2dtranspose nhwcconv "
     "thnnconv2d mkldnnconvolution deformconv convolutionoverrideable slowconv2d miopenconvolution "
     "depthwiseconv2dnativebackpropinput depthwiseconv2dnativebackpropfilter deformableconv2d "},
    {GRAPH_CLASS_ATTENTION,
     " attention multiheadattention groupqueryattention packedattention pagedattention flashattention "
     "flashattentionscore "
     "flashattn scaleddotproductattention scaleddotproductflashattention scaleddotproductefficientattention "
     "scaleddotproductcudnnattention longformerattention qattention decodermaskedmultiheadattention "
     "decodermaskedselfattention sparseattention rotaryembedding applyrotarypospositionembedding sdpa "
     "linearattention promptflashattention incrediflashattention fusedattention "},
    {GRAPH_CLASS_NORMALIZATION,
     " batchnormalization layernormalization instancenormalization groupnormalization lpnormalization lrn batchnorm "
     "layernorm groupnorm instancenorm rmsnorm simplifiedlayernormalization skiplayernormalization "
     "skipsimplifiedlayernormalization fusedbatchnorm fusedbatchnormv2 fusedbatchnormv3 fusedbatchnormex "
     "nativebatchnorm "
     "nativelayernorm nativegroupnorm cudnnbatchnorm syncbatchnorm rmsnormalization meanvariancenormalization "
     "batchnorminference batchnormtraining batchnormgrad embedlayernormalization l2normalize normalize "
     "dropout nativedropout dropoutgenmask dropoutdomask biasdropout bitmaskdropout fuseddropout adddropout "
     "addrmsnorm localresponsenormalization "},
    {GRAPH_CLASS_ACTIVATION,
     " relu relu6 leakyrelu prelu elu selu celu gelu fastgelu biasgelu quickgelu sigmoid hardsigmoid tanh softmax "
     "logsoftmax "
     "softmaxcrossentropywithlogits sparsesoftmaxcrossentropywithlogits softplus softsign hardswish swish silu mish "
     "thresholdedrelu logistic relugrad relu6grad sigmoidgrad tanhgrad gelugrad softmaxgrad threshold hardtanh "
     "logsigmoid swiglu geglu siluandmul hardmax crossentropyloss softmaxcrossentropyloss nllloss nlllossforward "
     "swigluquant shrink glu softmaxv2 clip clampmin "},
    {GRAPH_CLASS_ELEMENTWISE,
     " add sub mul div addv2 subtract multiply divide realdiv truediv floordiv floormod truncatediv truncatemod mod "
     "pow "
     "power sqrt rsqrt exp exponential exponentialminusone log log1p logplusone neg negate negative abs sign floor "
     "ceil "
     "round roundnearesteven roundnearestafz erf erfinv sin cos tan sine cosine asin acos atan atan2 sinh cosh asinh "
     "acosh "
     "atanh reciprocal square squareddifference maximum minimum max min sum addn and or xor not logicaland logicalor "
     "logicalnot logicalxor bitwiseand bitwiseor bitwisenot bitwisexor equal notequal greater greaterequal "
     "greaterorequal less lessequal lessorequal compare where select selectv2 clamp clipbyvalue biasadd isnan isinf "
     "isfinite cbrt expm1 eq ne gt ge lt le rsub addcmul addcdiv lerp bitshift shiftleft shiftrightlogical "
     "shiftrightarithmetic popcnt real imag complex nantonum rem remainder zeroslike oneslike addscalar "
     "mulnonan divnonan inv maskedfill quantizelinear dequantizelinear dynamicquantizelinear mean2 scale "
     "fakequant fakequantize fakequantwithminmaxvars logicalshiftright stablelog polymulsum fma axpy triu tril "
     "bitwise logicalright silumul mulsilu biasaddgrad allclose sgn clonearith quantize dequantize "},
    {GRAPH_CLASS_REDUCTION,
     " reduce reducesum reducemean reducemax reducemin reduceprod reducel1 reducel2 reducelogsum reducelogsumexp "
     "reducesumsquare reduceany reduceall mean prod amax amin any all argmax argmin topk topkv2 cumsum cumulativesum "
     "cumprod cumulativelogsumexp logsumexp norm l2loss var std varmean reducewindow reduceprecision maxpool "
     "maxpoolv2 averagepool avgpool avgpool2d maxpool2d maxpool2dwithindices globalaveragepool globalmaxpool "
     "lppool globallppool adaptiveavgpool2d adaptiveavgpool selectandscatter maxpoolgrad avgpoolgrad "
     "maxpoolgradwithargmax maxpoolwithargmax sort argsort nonzero countnonzero unique segmentsum "
     "unsortedsegmentsum bincount histogram reducesuminto sumto linalgvectornorm euclideannorm pool trace "
     "frobeniusnorm squaresum squaresumall squaresumv1 maxroipool roialign median mode lpnorm cummax cummin "},
    {GRAPH_CLASS_LAYOUT,
     " reshape transpose permute view unsafeview flatten squeeze unsqueeze expanddims slice stridedslice dynamicslice "
     "dynamicupdateslice dynamicreshape dynamicbroadcastindim concat concatv2 concatenate cat stack unstack pack "
     "unpack "
     "split splitv splitvd splitwithsizes chunk tile tileop repeat expand broadcastto broadcast broadcastindim "
     "dynamicbroadcast gather gathernd gatherv2 gatherelements dynamicgather scatter scatternd scatterelements "
     "scatteradd scatterupdate scatterndupdate "
     "cast convert converttype bitcast bitcastconvert bitcastconverttype copy copystart copydone clone contiguous pad "
     "padv2 padv3 mirrorpad constantpadnd reverse reversev2 reversesequence flip roll shape shapeof size rank "
     "tensorshape shapen fill full fulllike ones zeros empty emptylike emptystrided iota range arange linspace onehot "
     "eyelike eye meshgrid depthtospace spacetodepth spacetobatchnd batchtospacend resize upsample resizebilinear "
     "resizenearestneighbor interpolate upsamplenearest2d to tocopy astype t select index indexselect indexput "
     "narrow asstrided movedim swapaxes transposedata transdata dynamicpad getdimensionsize setdimensionsize "
     "gridsample "
     "slicegrad stridedslicegrad concatoffset broadcastgradientargs invertpermutation matrixbandpart diag "
     "matrixdiag rngbituniform rngbitgenerator rng randomuniform randomnormal randomstandardnormal multinomial "
     "rngdefault truncatednormal dropoutgenmaskv3 bernoulli randomnormallike randomuniformlike unfold fold "
     "constantofshape copyto deepcopy detach alias slicescatter viewcopy pixelshuffle imtocol coltoim "
     "copyfrom memcpy memset memcpyasync tensorscatterupdate parallelconcat lift liftfresh trilu "
     "resizenearestneighbour affinegrid compress collapseshape expandshape subview extractslice insertslice "},
    {GRAPH_CLASS_EMBEDDING,
     " embedding embeddinglookup embeddingbag embeddingrenorm embeddingdensebackward gatherembedding tokenembedding "
     "embeddinglookupsparse resourcegather "},
    {GRAPH_CLASS_RECURRENT,
     " lstm gru rnn lstmcell grucell rnncell lstmblockcell blocklstm cudnnrnn dynamicrnn dynamicgruv2 lstmgrad "
     "thnnfusedlstmcell miopenrnn quantizedlstm dynamicquantizelstm bidirectionallstm cudnnrnnv2 cudnnrnnv3 "},
    {GRAPH_CLASS_OPTIMIZER,
     " adam adamw applyadam resourceapplyadam applymomentum resourceapplymomentum applygradientdescent sgd momentum "
     "fusedadam lamb lars applyrmsprop resourceapplyrmsprop applyadagrad adagrad applyftrl sparseapplyftrl fusedadamw "
     "fusedapplymomentum resourceapplygradientdescent adamapplyone adamapplyonewithdecay adamweightdecay "
     "fusedsgd foreachadam foreachaddcdiv foreachaddcmul assignadd assignsub clipbyglobalnorm "
     "adafactor larsupdate applykerasmomentum adamoptimizer inferedlamb "},
    {GRAPH_CLASS_COLLECTIVE,
     " allreduce allgather reducescatter alltoall alltoallv allgatherv broadcastcollective collectivepermute "
     "collectivepermutestart collectivepermutedone allreducestart allreducedone allgatherstart allgatherdone "
     "reducescatterstart asyncstart asyncdone hcomallreduce hcomallgather hcomreducescatter hcombroadcast hcomalltoall "
     "hcomalltoallv ncclallreduce ncclallgather ncclreducescatter ncclbroadcast nccalltoall ncclalltoall "
     "alltoallsingle "
     "allgatherintotensor reducescattertensor collectivereduce collectivegather collectivebroadcast crossreplicasum "
     "mirror mirroroperator virtualdiv mirrorminstep allreducecoalesced waittensor collectivereducev2 "
     "collectivegatherv2 "
     "barrier neighborexchange neighborexchangev2 alltoallgrad allreducegrad partitionid replicaid syncbatchnormgather "
     "collectivebroadcastop raggedalltoall gloo collectiveop reducescatterdone virtualassignadd "},
    {GRAPH_CLASS_SEND, " send senddone hcomsend ncclsend isend hostsend xlahostsend sendtohost infeedenqueue outfeed "
                       "p2psend xlasendtohost "},
    {GRAPH_CLASS_RECEIVE,
     " recv recvdone receive hcomreceive hcomrecv ncclrecv irecv hostrecv recvfromhost infeed p2precv xlarecvfromhost "
     "xlahostrecv "},
    {GRAPH_CLASS_CONTROL,
     " if loop scan while statelesswhile statelessif conditional call customcall fusion switch merge switchn enter "
     "exit "
     "nextiteration loopcond refswitch refmerge refenter refexit refnextiteration cond partitionedcall "
     "statefulpartitionedcall partial case for composite funccall yield return funcreturn xlalaunch labelswitch "
     "partialcall "
     "stablehlocall sequencemap invokesubgraph xlacall xlaif xlawhile map remotecall symbolicgradient "
     "checkpoint checkpointname controlflow stopgradientcall "},
    {GRAPH_CLASS_BOOKKEEPING,
     " maketuple tuplegetitem tuple gettupleelement depend load updatestate identity identityn noop stopgradient "
     "optimizationbarrier controltrigger makelist listgetitem makecsrtensor afterall adddependency "
     "preventgradient checknumerics snapshot placeholderwithdefault ensureshape domain sequenceconstruct sequenceat "
     "refidentity assert print statesetitem tupleindex getitem stopgrad readvariableop "
     "addtoken aftertoken createtoken resourceidentity optional optionalgetelement annotate shardingconstraint "
     "sharding spmdfullttoshardshape spmdfulltoshardshape spmdshardtofullshape customsharding "
     "profilerstep "
     "recordfunction enterprofile unrealizedconversioncast layoutconstraint variabledefine "},
    {GRAPH_CLASS_DATA,
     " parameter constant const placeholder variable variablev2 varhandleop variableop initializer input output "
     "graphinput graphoutput constantv2 autoreloadvariable getnext iteratorgetnext dataset iterator arg retval arg0 "
     "valuenode hoststconst inputlayer hostconst readfile vardataop weights "},
};

/* Words that tell the class of a type that the table does not have; the first that is found counts. */
static const struct {
    const char *word;
    graph_class klass;
} INSIDE[] = {
    {"allreduce", GRAPH_CLASS_COLLECTIVE},
    {"allgather", GRAPH_CLASS_COLLECTIVE},
    {"reducescatter", GRAPH_CLASS_COLLECTIVE},
    {"alltoall", GRAPH_CLASS_COLLECTIVE},
    {"collective", GRAPH_CLASS_COLLECTIVE},
    {"sendrecv", GRAPH_CLASS_SEND},
    {"nccl", GRAPH_CLASS_COLLECTIVE},
    {"hcom", GRAPH_CLASS_COLLECTIVE},
    {"c10d", GRAPH_CLASS_COLLECTIVE},
    {"attention", GRAPH_CLASS_ATTENTION},
    {"flashattn", GRAPH_CLASS_ATTENTION},
    {"sdpa", GRAPH_CLASS_ATTENTION},
    {"conv1d", GRAPH_CLASS_CONVOLUTION},
    {"conv2d", GRAPH_CLASS_CONVOLUTION},
    {"conv3d", GRAPH_CLASS_CONVOLUTION},
    {"convolution", GRAPH_CLASS_CONVOLUTION},
    {"matmul", GRAPH_CLASS_MATMUL},
    {"gemm", GRAPH_CLASS_MATMUL},
    {"layernorm", GRAPH_CLASS_NORMALIZATION},
    {"batchnorm", GRAPH_CLASS_NORMALIZATION},
    {"rmsnorm", GRAPH_CLASS_NORMALIZATION},
    {"normalization", GRAPH_CLASS_NORMALIZATION},
    {"lstm", GRAPH_CLASS_RECURRENT},
    {"embedding", GRAPH_CLASS_EMBEDDING},
    {"optimizer", GRAPH_CLASS_OPTIMIZER},
    {"apply", GRAPH_CLASS_OPTIMIZER},
    {"adam", GRAPH_CLASS_OPTIMIZER},
    {"softmax", GRAPH_CLASS_ACTIVATION},
    {"relu", GRAPH_CLASS_ACTIVATION},
    {"gelu", GRAPH_CLASS_ACTIVATION},
    {"sigmoid", GRAPH_CLASS_ACTIVATION},
    {"tanh", GRAPH_CLASS_ACTIVATION},
    {"silu", GRAPH_CLASS_ACTIVATION},
    {"dropout", GRAPH_CLASS_NORMALIZATION},
    {"pool", GRAPH_CLASS_REDUCTION},
    {"reduce", GRAPH_CLASS_REDUCTION},
    {"transpose", GRAPH_CLASS_LAYOUT},
    {"reshape", GRAPH_CLASS_LAYOUT},
    {"gather", GRAPH_CLASS_LAYOUT},
    {"scatter", GRAPH_CLASS_LAYOUT},
    {"concat", GRAPH_CLASS_LAYOUT},
    {"slice", GRAPH_CLASS_LAYOUT},
    {"broadcast", GRAPH_CLASS_LAYOUT},
    {"copy", GRAPH_CLASS_LAYOUT},
    {"variable", GRAPH_CLASS_DATA},
};

enum { MAX_WORD = 96 };

/* The part that names the operator, folded. @return its length; 0: nothing to compare */
static size_t fold(const char *op, char *out)
{
    const char *colons = strstr(op, "::");
    for (const char *next = colons; next; next = strstr(next + 2, "::")) {
        op = next + 2;
    }
    /* "stablehlo.add" is in a dialect; "aten::add.Tensor" has an overload. */
    const char *dot = strchr(op, '.');
    size_t n = strlen(op);
    if (dot && colons) {
        n = (size_t)(dot - op);
    } else if (dot && dot[1]) {
        op = dot + 1;
        n = strlen(op);
    }
    size_t k = 0;
    for (size_t i = 0; i < n && k < MAX_WORD; i++) {
        char c = op[i];
        if (c >= 'A' && c <= 'Z') {
            c = (char)(c - 'A' + 'a');
        }
        if (c != '_' && c != '-' && c != ' ' && c != '.') {
            out[k++] = c;
        }
    }
    out[k] = '\0';
    return k;
}

static bool look_up(const char *word, size_t n, graph_class *klass)
{
    char key[MAX_WORD + 3] = " ";
    memcpy(key + 1, word, n);
    memcpy(key + 1 + n, " ", 2);
    for (size_t i = 0; i < sizeof TABLE / sizeof TABLE[0]; i++) {
        if (strstr(TABLE[i].words, key)) {
            *klass = TABLE[i].klass;
            return true;
        }
    }
    return false;
}

/* "aten.mm.default": one of the parts between dots. */
static bool look_up_parts(const char *op, graph_class *klass)
{
    char word[MAX_WORD + 1];
    const char *dot = strchr(op, '.');
    for (unsigned i = 0; dot && i < 8; i++) {
        const char *end = strchr(dot + 1, '.');
        size_t len = end ? (size_t)(end - dot - 1) : strlen(dot + 1);
        char part[MAX_WORD];
        len = len < sizeof part - 1 ? len : sizeof part - 1;
        memcpy(part, dot + 1, len);
        part[len] = '\0';
        size_t n = fold(part, word);
        if (n > 0 && look_up(word, n, klass)) {
            return true;
        }
        dot = end;
    }
    return false;
}

/* The operator whose gradient it is: "ReluGrad", "native_layer_norm_backward", "Conv2DBackpropInput". */
static size_t without_gradient(const char *word, size_t n)
{
    static const char *const ENDINGS[] = {"gradv2", "gradgrad", "grad", "backward", "backward0",
                                          "gradd",  "v2",       "v3",   "fwd",      "bwd"};
    for (size_t i = 0; i < sizeof ENDINGS / sizeof ENDINGS[0]; i++) {
        size_t len = strlen(ENDINGS[i]);
        if (n > len && memcmp(word + n - len, ENDINGS[i], len) == 0) {
            return n - len;
        }
    }
    return n;
}

graph_class graph_class_of(const char *op)
{
    char word[MAX_WORD + 1];
    graph_class klass;
    size_t n = fold(op, word);
    if (n == 0) {
        return GRAPH_CLASS_OTHER;
    }
    if (look_up(word, n, &klass)) {
        return klass;
    }
    if (look_up_parts(op, &klass)) {
        return klass;
    }
    size_t shorter = without_gradient(word, n);
    if (shorter < n && look_up(word, shorter, &klass)) {
        return klass;
    }
    if (strncmp(word, "nccl", 4) == 0 && strstr(word, "sendrecv")) {
        return GRAPH_CLASS_SEND;
    }
    for (size_t i = 0; i < sizeof INSIDE / sizeof INSIDE[0]; i++) {
        if (strstr(word, INSIDE[i].word)) {
            return INSIDE[i].klass;
        }
    }
    return GRAPH_CLASS_OTHER;
}
