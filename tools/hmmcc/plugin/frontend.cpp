// SPDX-License-Identifier: MIT
/*
 * The part of the plugin that runs inside of clang's front end, in both halves
 * of a CUDA file.
 *
 * System headers: their functions become host and device functions, because
 * device code is native code and links with the same libraries. Functions that
 * say where they run stay as they are, and so do our own headers, <new>, of which
 * clang has its own idea in CUDA, and those of the processor's instructions, some
 * of which clang has declared.
 *
 * Kernels of the device half: the code generator sees them with the Windows
 * calling convention. It has exactly one IR parameter for each parameter of the
 * source, while the System V convention splits and drops parameters. Only the
 * code generator sees this type; for the program it stays the usual one. The
 * pass that reads the parameters gets their sizes as an annotation.
 */
#include "frontend.hpp"

#include "names.hpp"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendPluginRegistry.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaCUDA.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Support/Path.h>

#include <memory>
#include <string>
#include <vector>

namespace hmmcc {
namespace {

bool device_half = false;

/// Finds declarations with __host__, __device__ or __global__ in the stream of tokens.
class explicit_declarations {
  public:
    /// Returns true if the token's declaration has such an attribute up to this token.
    bool take(const clang::Token& token) {
        if (ended_) found_ = ended_ = false;
        switch (token.getKind()) {
        case clang::tok::kw___attribute:
            attribute_depth_ = depth_ + 2;
            break;
        case clang::tok::l_paren:
            depth_++;
            break;
        case clang::tok::r_paren:
            if (depth_ > 0) depth_--;
            if (depth_ + 2 <= attribute_depth_) attribute_depth_ = 0;
            break;
        case clang::tok::semi:
        case clang::tok::l_brace:
        case clang::tok::r_brace:
            // clang adds implicit attributes before it reads the next token
            ended_ = depth_ == 0;
            break;
        default:
            if (attribute_depth_ != 0 && depth_ == attribute_depth_ && is_place(token))
                found_ = true;
        }
        return found_;
    }

  private:
    static bool is_place(const clang::Token& token) {
        const clang::IdentifierInfo* const name = token.getIdentifierInfo();
        return name != nullptr &&
               (name->isStr("host") || name->isStr("device") || name->isStr("global"));
    }

    unsigned depth_ = 0;           ///< nesting of parentheses
    unsigned attribute_depth_ = 0; ///< nesting inside an attribute; 0: outside
    bool found_ = false;
    bool ended_ = false;
};

/// Makes functions in system headers __host__ __device__, unless they have an explicit attribute.
class system_headers {
  public:
    system_headers(clang::CompilerInstance& compiler, std::string own)
        : compiler_(compiler), own_(std::move(own)) {}

    void enter(clang::SourceLocation place, clang::SrcMgr::CharacteristicKind kind) {
        const llvm::StringRef name = compiler_.getSourceManager().getFilename(place);
        const llvm::StringRef file = llvm::sys::path::filename(name);
        inside_ = clang::SrcMgr::isSystem(kind) && !name.starts_with(own_) && file != "new" &&
                  !file.ends_with("intrin.h");
        update();
    }
    void take(const clang::Token& token) {
        if (declarations_.take(token) == explicit_) return;
        explicit_ = !explicit_;
        update();
    }

  private:
    void update() {
        const bool wanted = inside_ && !explicit_;
        if (wanted == forced_ || !compiler_.hasSema()) return;
        forced_ = wanted;
        clang::SemaCUDA& sema = compiler_.getSema().CUDA();
        if (wanted)
            sema.PushForceHostDevice();
        else
            sema.PopForceHostDevice();
    }

    clang::CompilerInstance& compiler_;
    std::string own_; ///< folder of our own headers
    explicit_declarations declarations_;
    bool inside_ = false;
    bool explicit_ = false;
    bool forced_ = false;
};

/// Reports each change of the current file to system_headers.
class file_callbacks final : public clang::PPCallbacks {
  public:
    explicit file_callbacks(std::shared_ptr<system_headers> headers)
        : headers_(std::move(headers)) {}

    void FileChanged(clang::SourceLocation place, FileChangeReason,
                     clang::SrcMgr::CharacteristicKind kind, clang::FileID) override {
        headers_->enter(place, kind);
    }

  private:
    std::shared_ptr<system_headers> headers_;
};

void watch_system_headers(clang::CompilerInstance& compiler, const std::string& own) {
    const auto headers = std::make_shared<system_headers>(compiler, own);
    clang::Preprocessor& preprocessor = compiler.getPreprocessor();
    preprocessor.addPPCallbacks(std::make_unique<file_callbacks>(headers));
    preprocessor.setTokenWatcher([headers](const clang::Token& token) { headers->take(token); });
}

/// The kernels of this file, in the order of their definitions.
llvm::SetVector<clang::FunctionDecl*>& kernels() {
    static llvm::SetVector<clang::FunctionDecl*> found;
    return found;
}

bool is_kernel(const clang::FunctionDecl& function) {
    return function.hasAttr<clang::CUDAGlobalAttr>() && !function.isDependentContext();
}

void use_convention(clang::FunctionDecl& function, clang::CallingConv convention) {
    const auto* type = function.getType()->getAs<clang::FunctionType>();
    const clang::FunctionType* const changed = function.getASTContext().adjustFunctionType(
        type, type->getExtInfo().withCallingConv(convention));
    function.setType(clang::QualType(changed, 0));
}

/// Size, alignment and kind of each parameter: "8.8p" for a pointer, "16.4v" for another type.
std::string parameter_list(const clang::FunctionDecl& kernel) {
    const clang::ASTContext& context = kernel.getASTContext();
    std::string text;
    for (const clang::ParmVarDecl* const parameter : kernel.parameters()) {
        const clang::QualType type = parameter->getType();
        const bool pointer =
            type->isAnyPointerType() || type->isReferenceType() || type->isNullPtrType();
        const auto size = type->isReferenceType() ? context.getTypeSizeInChars(context.VoidPtrTy)
                                                  : context.getTypeSizeInChars(type);
        const auto alignment = type->isReferenceType()
                                   ? context.getTypeAlignInChars(context.VoidPtrTy)
                                   : context.getTypeAlignInChars(type);
        if (!text.empty()) text += ',';
        text += std::to_string(size.getQuantity()) + '.' + std::to_string(alignment.getQuantity()) +
                (pointer ? 'p' : 'v');
    }
    return text;
}

void annotate(clang::FunctionDecl& kernel) {
    if (!kernels().insert(&kernel)) return;
    clang::ASTContext& context = kernel.getASTContext();
    kernel.addAttr(clang::AnnotateAttr::CreateImplicit(
        context, kernel_annotation + parameter_list(kernel), nullptr, 0));
}

/// Reports unsupported constructs in device code, with their source locations.
class refusals final : public clang::RecursiveASTVisitor<refusals> {
  public:
    explicit refusals(clang::ASTContext& context) : context_(context) {}

    bool TraverseFunctionDecl(clang::FunctionDecl* function) {
        const bool outer = inside_;
        const auto* const device = function->getAttr<clang::CUDADeviceAttr>();
        inside_ = function->hasAttr<clang::CUDAGlobalAttr>() ||
                  (device != nullptr && !device->isImplicit());
        const bool result = RecursiveASTVisitor::TraverseFunctionDecl(function);
        inside_ = outer;
        return result;
    }
    bool VisitGCCAsmStmt(clang::GCCAsmStmt* statement) {
        const clang::SourceLocation place = statement->getAsmLoc();
        if (!inside_ || context_.getSourceManager().isInSystemHeader(place)) return true;
        clang::DiagnosticsEngine& diagnostics = context_.getDiagnostics();
        diagnostics.Report(
            place, diagnostics.getCustomDiagID(
                       clang::DiagnosticsEngine::Error,
                       "hmmcc does not support inline PTX: device code is compiled for the CPU"));
        return true;
    }

  private:
    clang::ASTContext& context_;
    bool inside_ = false; ///< in an explicit device function
};

/// Checks the file, in the host half only.
class refusing_consumer final : public clang::ASTConsumer {
  public:
    void HandleTranslationUnit(clang::ASTContext& context) override {
        refusals(context).TraverseDecl(context.getTranslationUnitDecl());
    }
};

/// Annotates kernels. Changes their calling convention before the code generator runs, and changes
/// it back afterwards.
template <bool Before>
class convention_consumer final : public clang::ASTConsumer {
  public:
    bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
        for (clang::Decl* const declaration : group)
            walk(*declaration);
        return true;
    }
    void HandleCXXImplicitFunctionInstantiation(clang::FunctionDecl* function) override {
        if (is_kernel(*function)) annotate(*function);
    }
    void HandleTranslationUnit(clang::ASTContext&) override {
        for (clang::FunctionDecl* const kernel : kernels())
            use_convention(*kernel, Before ? clang::CC_Win64 : clang::CC_C);
    }

  private:
    void walk(clang::Decl& declaration) {
        if (auto* const function = llvm::dyn_cast<clang::FunctionDecl>(&declaration)) {
            if (!is_kernel(*function)) return;
            annotate(*function);
            use_convention(*function, Before ? clang::CC_Win64 : clang::CC_C);
        } else if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(declaration)) {
            for (clang::Decl* const inner : llvm::cast<clang::DeclContext>(declaration).decls())
                walk(*inner);
        }
    }
};

template <bool Before>
class convention_action final : public clang::PluginASTAction {
  public:
    std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                          llvm::StringRef) override {
        device_half = compiler.getLangOpts().CUDAIsDevice;
        if (Before) watch_system_headers(compiler, own_);
        if (device_half) return std::make_unique<convention_consumer<Before>>();
        if (Before) return std::make_unique<refusing_consumer>();
        return std::make_unique<clang::ASTConsumer>();
    }
    bool ParseArgs(const clang::CompilerInstance&,
                   const std::vector<std::string>& arguments) override {
        if (!arguments.empty()) own_ = arguments.front();
        return true;
    }
    ActionType getActionType() override {
        return Before ? AddBeforeMainAction : AddAfterMainAction;
    }

  private:
    std::string own_;
};

const clang::FrontendPluginRegistry::Add<convention_action<true>>
    before("hmmcc", "kernels and system headers, before the code generator");
const clang::FrontendPluginRegistry::Add<convention_action<false>>
    after("hmmcc-after", "kernels, after the code generator");

} // namespace

bool compiles_device_half() {
    return device_half;
}

} // namespace hmmcc
