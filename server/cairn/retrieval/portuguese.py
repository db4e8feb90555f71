"""Portuguese questions about English code: the words that questions about programs are made of, translated.

Plurals, genders and the common verb forms are made by rule; accents do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from cairn.text.unicode import without_accents

_NOUNS = """
    acesso access | agendador scheduler | algoritmo algorithm | ambiente environment | anexo attachment
    aplicação application | aplicativo application | argumento argument | armazenamento storage | arquivo file
    arquitetura architecture | árvore tree | assinatura signature | assíncrono async asynchronous | atributo attribute
    atualização update | autorização authorization | biblioteca library | botão button | cabeçalho header
    cadeia string chain | caminho path | campo field | caractere character | carga load payload | certificado certificate
    chamada call | chave key | ciclo cycle | classe class | cliente client | código code | coleção collection
    coluna column | comando command | comentário comment | componente component | comportamento behavior
    conexão connection | conjunto set | conta account | contador counter | conteúdo content | contexto context
    controlador controller | cópia copy | corpo body | dado data | dependência dependency | desempenho performance
    diretório directory | documentação documentation | domínio domain | endereço address | entidade entity
    entrada input entry | erro error | escopo scope | espaço space | esquema schema | estado state
    estrutura structure | etapa step stage | evento event | exceção exception | exemplo example | expressão expression
    fábrica factory | falha failure | fatia slice | ferramenta tool | fila queue | filtro filter | fluxo stream flow
    formato format | formulário form | função function | gancho hook | gerenciador manager | grupo group
    histórico history | idioma language locale | imagem image | índice index | instância instance
    interface interface | intervalo interval range | laço loop | leitor reader | leitura read | ligação binding link
    limite limit | linguagem language | linha line | lista list | manipulador handler | mapa map | memória memory
    mensagem message | método method | modelo model template | módulo module | nome name | número number | objeto object
    opção option | operação operation | ordem order | pacote package packet | padrão default pattern | página page
    palavra word keyword | parâmetro parameter | pasta folder directory | permissão permission | pesquisa search
    ponteiro pointer | porta port | prazo deadline | processo process | projeto project | propriedade property
    protocolo protocol | raiz root | recurso resource | rede network | referência reference | registro record log
    regra rule | requisição request | pedido request | resposta response | resultado result | retorno return | rota route
    roteador router | roteamento routing | saída output exit | segurança security | senha password
    sequência sequence | serviço service | servidor server | sessão session | símbolo symbol | sinal signal
    sistema system | sobrecarga overload | solicitação request | soquete socket | tabela table | tamanho size
    tarefa task job | tela screen | tempo time | teste test | texto text | tipo type | transação transaction
    trava lock | usuário user | utilitário utility | valor value | variável variable | vazio empty | versão version
    vetor vector array | nulo null | interno internal | externo external | padronizado standard | assinante subscriber
    escritor writer | gravação write | escrita write | criptografia encryption | fonte source | origem source origin
    destino destination target | cota quota | ouvinte listener | dica hint | aviso warning | fragmento fragment chunk
    construtor constructor builder | herança inheritance | tradução translation | tratamento handling
    comprimento length | compilador compiler | depuração debug | implantação deployment | nuvem cloud | ramo branch
"""
_VERBS = """
    abrir open | acessar access | adicionar add | agendar schedule | alterar change | analisar parse analyze
    apagar delete | armazenar store | assinar sign subscribe | atribuir assign | atualizar update | autenticar authenticate
    autorizar authorize | buscar search fetch | cancelar cancel | carregar load | chamar call | codificar encode
    compilar compile | comparar compare | configurar configure | conectar connect | consultar query | contar count
    converter convert | copiar copy | corrigir fix | criar create | criptografar encrypt | decodificar decode
    definir define set | deletar delete | depurar debug | descartar discard | desconectar disconnect | despachar dispatch
    detectar detect | disparar trigger fire | distribuir distribute | dividir split | emitir emit | encerrar shutdown close
    encontrar find | enviar send | escrever write | esperar wait | executar run execute | excluir delete exclude
    exportar export | fechar close | filtrar filter | finalizar finish | formatar format | gerar generate | gravar write
    herdar inherit | importar import | imprimir print | incluir include | iniciar start | inicializar initialize
    injetar inject | inserir insert | instalar install | invalidar invalidate | juntar join merge | lançar raise throw
    ler read | limitar limit | limpar clean clear | listar list | manipular handle | mapear map | medir measure
    mesclar merge | montar mount | mover move | observar watch observe | ordenar sort | otimizar optimize
    parar stop | processar process | procurar search | proteger protect | publicar publish | receber receive
    reconectar reconnect | redirecionar redirect | registrar register log | remover remove | renderizar render
    renomear rename | repetir retry repeat | resolver resolve | responder respond | retornar return | rotear route
    salvar save | selecionar select | serializar serialize | desserializar deserialize | sincronizar synchronize
    testar test | tentar try | traduzir translate | transformar transform | tratar handle | validar validate
    verificar check verify | vincular bind
"""
_IRREGULAR = """
    lê read | leem read | lido read | escrito written write | aberto open | fechado closed | envio send | busca search
    consulta query | registro record | início start | espera wait | retorna return | mudança change
"""
_PHRASES = {
    "banco de dados": "database",
    "base de dados": "database",
    "bancos de dados": "databases",
    "linha de comando": "cli",
    "tempo limite": "timeout",
    "tempo esgotado": "timeout",
    "palavra chave": "keyword",
    "nova tentativa": "retry",
    "conjunto de threads": "pool",
}
"""What a phrase means as a whole; it stands beside its first word."""

_CERTAIN = frozenset(
    """
    à às é você vocês não são está estão como onde qual quais quando porque porquê que quê quem uma umas para pela
    pelas pelo pelos até também isso isto esse essa esses essas este esta estes estas explique explica explicar
    descreva mostre liste funciona funcionam resumo significa serve acontece há já só nossa nosso
    """.split()
)
_LIKELY = frozenset("de da dos das na nas nos em um com sem por ao aos o os e seu sua".split())
_LETTERS = re.compile(r"[^\W\d_]+")
_TILDE = re.compile(r"[ãõ]|ç[ãaõo]", re.IGNORECASE)

_NOUN_ENDINGS = (
    ("ao", ("ao", "oes", "aos")),
    ("al", ("al", "ais")),
    ("el", ("el", "eis")),
    ("or", ("or", "ores", "ora", "oras")),
    ("em", ("em", "ens")),
    ("z", ("z", "zes")),
    ("r", ("r", "res")),
    ("o", ("o", "os", "a", "as")),
    ("", ("", "s")),
)
_VERB_ENDINGS = {
    "ar": "ar a am e em ou aram ando ado ada ados adas amos acao acoes amento",
    "er": "er e em a am eu eram endo ido ida idos idas emos imento",
    "ir": "ir e em a am iu iram indo ido ida idos idas imos",
}


def is_portuguese(text: str) -> bool:
    """Whether a question is Portuguese, by its function words and its tildes."""
    words = {word.lower() for word in _LETTERS.findall(text)}
    return bool(words & _CERTAIN) or len(words & _LIKELY) > 1 or bool(_TILDE.search(text))


def translations(words: Iterable[str], text: str) -> dict[str, tuple[str, ...]]:
    """For each Portuguese word of `words` what it means in programs, `text` being the question that they are from."""
    meanings = {word: _dictionary().get(without_accents(word.lower()), ()) for word in words}
    plain = without_accents(text.lower())
    for phrase, meaning in _PHRASES.items():
        first = phrase.split()[0]
        if first in meanings and re.search(rf"\b{phrase}\b", plain):
            meanings[first] = (*meanings[first], meaning)
    return {word: english for word, english in meanings.items() if english}


@cache
def _dictionary() -> dict[str, tuple[str, ...]]:
    """From each form, without accents, to English; made at the first Portuguese question (2 ms)."""
    known: dict[str, tuple[str, ...]] = {}
    tables = ((_IRREGULAR, lambda word: [word]), (_NOUNS, _noun_forms), (_VERBS, _verb_forms))
    for table, forms in tables:
        for entry in table.replace("\n", "|").split("|"):
            if words := entry.split():
                lemma, *meanings = words
                for form in forms(without_accents(lemma)):
                    known.setdefault(form, tuple(meanings))
    return known


def _noun_forms(lemma: str) -> Iterable[str]:
    ending, others = next((end, forms) for end, forms in _NOUN_ENDINGS if lemma.endswith(end))
    return [lemma[: len(lemma) - len(ending)] + other for other in others]


def _verb_forms(infinitive: str) -> Iterable[str]:
    root, ending = infinitive[:-2], infinitive[-2:]
    return [root + other for other in _VERB_ENDINGS[ending].split()]
